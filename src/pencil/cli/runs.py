"""`pencil runs`: the runs below a folder, with their figures."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from pencil.cli.failure import guarded
from pencil.errors import PencilError

HEADS = ("run", "state", "method", "data", "test", "labels given", "corrected", "changed", "suspects", "time", "when")
RIGHT = HEADS[4:10]
"""Columns of numbers."""


@guarded
def runs(
    folder: Annotated[Path, typer.Argument(help="The folder to look in, at any depth.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Show status and result.json of each as JSON.")] = False,
) -> None:
    """List runs with their figures, the newest last.

    \b
      pencil runs
      pencil runs demo-run
      pencil runs --json

    Test is the accuracy at the end; labels given and corrected are percent correct, where the truth is known.
    A run that was killed is shown as stopped: it can be resumed.
    """
    if not folder.is_dir():
        raise PencilError(
            f"there is no folder {folder}; train first (pencil train DATA), or name the folder of the runs."
        )
    found = sorted((_describe(path) for path in _run_folders(folder)), key=lambda row: str(row["updated"]))
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    if not found:
        typer.echo(f"{folder} holds no runs; train one with: pencil train DATA")
        return
    _print(found)


def _run_folders(folder: Path) -> Iterator[Path]:
    """Find run folders; what lies inside one is its own."""
    if (folder / "status.json").is_file():
        yield folder
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
            yield from _run_folders(entry)


def _describe(path: Path) -> dict[str, Any]:
    """Read status and result of a run; a damaged one is listed too."""
    from pencil.results.lock import is_held
    from pencil.results.read import read_run

    row: dict[str, Any] = {"run": str(path), "state": "damaged", "updated": "", "result": {}}
    try:
        run = read_run(path)
        row |= {"state": run.status.state, "updated": run.status.updated}
        if row["state"] == "finished":
            row["result"] = run.result
        elif row["state"] == "running" and not is_held(run.folder.lock_file):
            row["state"] = "stopped"
    except PencilError as error:
        row |= {"state": "damaged", "why": str(error)}
    return row


def _print(found: list[dict[str, Any]]) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    # In a pipe nothing may be cut off: one line a run, however wide.
    if not console.is_terminal:
        console = Console(width=10_000)
    table = Table(box=SIMPLE if console.is_terminal else None, pad_edge=False)
    for head in HEADS:
        table.add_column(head, justify="right" if head in RIGHT else "left", overflow="fold")
    for row in found:
        # As texts: in plain strings "[new]" would be taken for a style and not be shown.
        table.add_row(*(Text(cell) for cell in _cells(row)))
    console.print(table, soft_wrap=not console.is_terminal)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    from pencil.cli.timing import spoken
    from pencil.results.summary import method_of, percent

    result, labels = row["result"], row["result"].get("label_accuracy") or {}
    counts = [f"{result[name]:,}" if name in result else "–" for name in ("num_changed", "num_suspect")]
    return (
        row["run"],
        row["state"],
        method_of(result) if result else "–",
        str(result.get("dataset", "–")),
        percent((result.get("test_accuracy") or {}).get("last")),
        percent(labels.get("given")),
        percent(labels.get("corrected")),
        *counts,
        spoken(result["seconds"]) if "seconds" in result else "–",
        row["updated"].replace("T", " ")[:16],
    )
