"""`pencil demo`: plain training and PENCIL on the same noisy digits, side by side."""

from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer

from pencil.cli.failure import guarded, one_line
from pencil.errors import PencilError

METHODS = {"cross_entropy": "cross entropy", "pencil": "PENCIL"}
NOISE = "symmetric:0.4"
NARROW = {"width": 16}
"""Half the default network's channels: enough for digits, and twice as fast on a laptop."""
QUICK = {"cross_entropy": [3], "pencil": [2, 2, 2]}
"""Epochs of each phase that show that everything works, not how well."""
Results = dict[str, list[dict[str, Any]]]


@guarded
def demo(
    out: Annotated[Path | None, typer.Option(help="Folder to write to (demo-run, or a numbered one).")] = None,
    seed: Annotated[int, typer.Option(help="Decides noise, network and order.", min=0)] = 0,
    seeds: Annotated[int, typer.Option(help="How many seeds to average, from --seed on.", min=1)] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A few epochs: only shows that everything works.")] = False,
) -> None:
    """See it work: handwritten digits, 40% of the labels spoiled, trained plainly and with PENCIL.

    \b
      pencil demo
      pencil demo --seeds 3 --out three

    It runs on the CPU in about a minute, needs no network, and ends with a table of both. Each method leaves a
    run folder.
    """
    folder = _fresh(out)
    typer.echo(f"1,797 handwritten digits; 40% of the training labels are replaced by random ones ({NOISE}).")
    results = {method: list(_runs(method, folder, range(seed, seed + seeds), quick=quick)) for method in METHODS}
    _show(results)
    _draw(folder)
    typer.echo(
        f"\nwritten to {folder}/, one run for each; {folder}/*/labels.parquet has every label, given and corrected,"
        f" {folder}/*/report.html what became of them, {folder}/curves.svg how it went."
    )
    typer.echo("next: pencil train YOUR-DATA --out run")


def _runs(method: str, folder: Path, seeds: range, *, quick: bool) -> Iterator[dict[str, Any]]:
    from pencil.cli.display import display
    from pencil.run import fit
    from pencil.run.train import Interrupted

    for seed in seeds:
        name = method if len(seeds) == 1 else f"{method}-seed-{seed}"
        try:
            with display(title=METHODS[method]) as progress:
                yield fit(
                    "digits", method=method, recipe="auto", noise=NOISE, seed=seed, device="cpu",
                    backbone_options=NARROW, out=folder / name, progress=progress,
                    epochs=QUICK[method] if quick else None,
                ).summary  # fmt: skip
        except Interrupted as stopped:
            one_line(f"stopped; what was done is in {folder}. Start again with: pencil demo")
            raise typer.Exit(128 + stopped.signal) from None


def _draw(folder: Path) -> None:
    """Draw the runs of each method side by side, and make their reports."""
    from pencil.cli.report import add_report
    from pencil.figures.curves import draw_curves
    from pencil.figures.style import render
    from pencil.results.atomic import write_atomic
    from pencil.results.read import read_run

    first = {METHODS[m]: next(iter(sorted(folder.glob(f"{m}*/status.json")))).parent for m in METHODS}
    for status in sorted(folder.glob("*/status.json")):
        add_report(status.parent)
    histories = {name: read_run(path).history for name, path in first.items()}
    write_atomic(folder / "curves.svg", render(draw_curves(histories, phases_of="PENCIL"), "svg"))


def _fresh(out: Path | None) -> Path:
    """Choose a folder that nothing is in yet."""
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise PencilError(f"{out} is not empty; choose another --out.")
        return out
    folder, number = Path("demo-run"), 1
    while folder.exists():
        number += 1
        folder = Path(f"demo-run-{number}")
    return folder


def _show(results: Results) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(box=SIMPLE if console.is_terminal else None, pad_edge=False)
    table.add_column("")
    for title in ("test accuracy, best", "last", "correct labels, given", "corrected"):
        table.add_column(title, justify="right")
    for method, runs in results.items():
        cells = (
            ("test_accuracy", "best"),
            ("test_accuracy", "last"),
            ("label_accuracy", "given"),
            ("label_accuracy", "corrected"),
        )
        table.add_row(METHODS[method], *(f"{mean(run[group][key] for run in runs):.1f}%" for group, key in cells))
    console.print()
    console.print(table)
