"""`pencil sweep`: many runs from one file."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pencil.cli.failure import guarded


@guarded
def sweep(
    file: Annotated[Path, typer.Argument(help=r"A TOML file with \[settings] for all and one \[runs.NAME] a run.")],
    parallel: Annotated[int, typer.Option(help="How many runs at a time.", min=1)] = 1,
    out: Annotated[Path | None, typer.Option(help="The folder for the runs; the file's `out` otherwise.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="End with the rows as JSON on stdout.")] = False,
) -> None:
    """Run a list of configurations, each in a process and a run folder of its own.

    \b
      pencil sweep rates.toml --parallel 4
      pencil sweep rates.toml --out runs/rates --json > rates.json

    Finished runs are skipped and stopped ones go on, so the same command continues an interrupted sweep.
    A failed run stops no other; the exit code is then 1.
    """
    from pencil.run.queue import run_jobs
    from pencil.sweep import read_sweep, rows
    from pencil.sweep.refuse import refuse_edited, refuse_hopeless, refuse_overwriting

    jobs = read_sweep(file, out)
    refuse_hopeless(jobs)
    refuse_edited(jobs)
    refuse_overwriting(jobs)
    outcomes = run_jobs(jobs, parallel=parallel, tell=lambda line: typer.echo(line, err=True))
    found = rows(outcomes)
    typer.echo(json.dumps(found, indent=2) if as_json else _table(found))
    if any(outcome.state in ("failed", "stopped") for outcome in outcomes):
        raise typer.Exit(1)


def _table(found: list[dict[str, Any]]) -> str:
    heads = ("run", "state", "method", "test best", "test last", "labels given", "corrected", "seconds")
    lines = [heads] + [_cells(row) for row in found]
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    def number(group: str, name: str) -> str:
        value = (row.get(group) or {}).get(name)
        return "–" if value is None else f"{value:.2f}"

    from pencil.results.summary import method_of

    method = method_of(row) if "method" in row else "–"
    seconds = f"{row['seconds']:.0f}" if "seconds" in row else "–"
    test = number("test_accuracy", "best"), number("test_accuracy", "last")
    labels = number("label_accuracy", "given"), number("label_accuracy", "corrected")
    return (row["run"], row["state"], method, *test, *labels, seconds)
