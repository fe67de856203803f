"""`pencil reproduce`: the paper's tables and figures at one command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pencil.allowance import processors
from pencil.cli.failure import guarded
from pencil.config import merge, override
from pencil.errors import PencilError

if TYPE_CHECKING:
    from pencil.reproduce.trial import Trial

Argument, Option = typer.Argument, typer.Option
WHICH, WHERE, OTHER = "Which runs", "Where things lie", "Other than the paper's settings"
RESULTS = "results"


@guarded
def reproduce(
    what: Annotated[
        list[str],
        Argument(
            help="table2 … table6, figure2, figure3, clean, start, larger, ablation, default, fast, switches, or one "
            "row or cell (table3/pencil/symmetric-50); several share one queue. Or: results."
        ),
    ],
    cells: Annotated[
        list[str] | None,
        Option(help="Only these: symmetric-50,symmetric-70, or one at a time.", rich_help_panel=WHICH),
    ] = None,
    methods: Annotated[
        list[str] | None, Option(help="Only these; also others, or your own file.py:Class.", rich_help_panel=WHICH)
    ] = None,
    trials: Annotated[int, Option(help="Trials a cell, with seeds 0, 1, …", min=1, rich_help_panel=WHICH)] = 1,
    parallel: Annotated[
        int | None, Option(help="How many runs at a time (1; one a core with --quick).", min=1, rich_help_panel=WHICH)
    ] = None,
    force: Annotated[bool, Option("--force", help="Also what has a record already.", rich_help_panel=WHICH)] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="List trials, epochs and the estimated time.", rich_help_panel=WHICH)
    ] = False,
    out: Annotated[Path, Option(help="The folder for runs and pages.", rich_help_panel=WHERE)] = Path("runs/reproduce"),
    reference: Annotated[
        Path | None,
        Option(help="The folder of records (reference; OUT/reference for other settings).", rich_help_panel=WHERE),
    ] = None,
    root: Annotated[Path | None, Option(help="The folder of the dataset.", rich_help_panel=WHERE)] = None,
    weights: Annotated[Path | None, Option(help="Pre-trained weights of the network.", rich_help_panel=WHERE)] = None,
    download: Annotated[bool, Option("--download", help="Fetch the dataset.", rich_help_panel=WHERE)] = False,
    page: Annotated[Path, Option(help="Where `results` is written.", rich_help_panel=WHERE)] = Path("docs/results.md"),
    dataset: Annotated[str, Option(help="Another dataset, e.g. digits.", rich_help_panel=OTHER)] = "",
    quick: Annotated[
        bool, Option("--quick", help="A small network and few epochs: the whole path.", rich_help_panel=OTHER)
    ] = False,
    epochs: Annotated[
        int, Option(help="Epochs in all; phases shorten in proportion.", min=0, rich_help_panel=OTHER)
    ] = 0,
    backbone: Annotated[str, Option(help="Another network.", rich_help_panel=OTHER)] = "",
    assign: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="Any setting.", rich_help_panel=OTHER)
    ] = None,
) -> None:
    """Run the paper's experiments, and show its tables and figures with ours beside them.

    \b
      pencil reproduce table3 --root data --cells symmetric-50 --trials 3
      pencil reproduce table4 table3/pencil --root data --parallel 4
      pencil reproduce table3 --dataset digits --quick
      pencil reproduce results

    The third goes the whole path on a CPU, in minutes; the last writes docs/results.md from the records.
    Each finished run leaves a small record; what has one is never run again, and a stopped run goes on.
    """
    from pencil.reproduce.choice import choose
    from pencil.reproduce.trial import Wanted

    if RESULTS in what:
        if len(what) > 1:
            raise PencilError("results are written from records, nothing is run for them; give results alone.")
        _write_results(page, reference or Path("reference"))
        return
    at_once = parallel or (processors() if quick else 1)
    asked, places = _settings(assign or [], root, weights, quick=quick, parallel=at_once)
    wanted = Wanted(
        dataset=dataset, quick=quick, epochs=epochs, backbone=backbone, settings=asked, places=places
    )  # fmt: skip
    kept = reference or (out / "reference" if wanted.differs else Path("reference"))
    planned = choose(
        what, cells=_names(cells), systems=_names(methods), trials=trials, wanted=wanted, reference=kept
    )  # fmt: skip
    if dry_run:
        _describe(planned, kept, at_once, force=force)
        return
    _run(planned, out, kept, parallel=at_once, force=force, download=download)


def _names(given: list[str] | None) -> list[str]:
    return [name.strip() for text in given or () for name in text.split(",") if name.strip()]


def _settings(
    assignments: list[str], root: Path | None, weights: Path | None, *, quick: bool, parallel: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings that change results, and those that only say where things lie."""
    from pencil.reproduce.check import check_settings
    from pencil.reproduce.conduct import threads_for

    asked = merge({}, *(override(assignment) for assignment in assignments))
    check_settings(asked)
    hardware = {"threads": threads_for(parallel)} if quick else {}
    places: dict[str, Any] = {"hardware": hardware | asked.pop("hardware", {})}
    if root is not None:
        places["data"] = {"root": str(root)}
    if weights is not None:
        if not weights.is_file():
            raise PencilError(f"the weights file {weights} does not exist; give the file with --weights.")
        places["backbone_options"] = {"weights": str(weights)}
    return asked, {name: group for name, group in places.items() if group}


def _describe(planned: "list[Trial]", reference: Path, parallel: int, *, force: bool) -> None:
    from pencil.reproduce.conduct import pending
    from pencil.reproduce.estimate import describe

    waiting = pending(planned, reference, force=force)
    benchmarks = reference if (reference / "bench").is_dir() else Path("reference")
    typer.echo(describe(planned, waiting, benchmarks, parallel), nl=False)


def _run(planned: "list[Trial]", out: Path, reference: Path, *, parallel: int, force: bool, download: bool) -> None:
    from pencil.reproduce.conduct import conduct, pending
    from pencil.reproduce.output import write_study
    from pencil.reproduce.record import read_records
    from pencil.reproduce.recorded import has_record

    waiting = pending(planned, reference, force=force)
    recorded = sum(has_record(trial, reference) for trial in planned)
    replaced = ", to be replaced" if force and recorded else ""
    _tell(f"{len(waiting)} of {len(planned)} trials to run; {recorded} have a record in {reference}{replaced}.")
    where: dict[str, Any] = {"out": out, "reference": reference}
    outcomes = conduct(waiting, **where, parallel=parallel, download=download, tell=_tell, force=force)
    for study in {trial.study.name: trial.study for trial in planned}.values():
        files = write_study(study, read_records(reference, study.name), out)
        typer.echo(files[0].read_text(encoding="utf-8"))
        _tell(f"written: {', '.join(str(file) for file in files)}")
    if any(outcome.state in ("failed", "stopped") for outcome in outcomes):
        raise typer.Exit(1)


def _write_results(page: Path, reference: Path) -> None:
    from pencil.reproduce.results import write_results

    for file in write_results(page, reference):
        typer.echo(str(file))


def _tell(line: str) -> None:
    typer.echo(line, err=True)
