"""`pencil labels`: what a run's labels come to, with people's decisions and movable thresholds."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from pencil.cli.failure import guarded
from pencil.cli.options import FinishedRun
from pencil.cli.table_file import check_out
from pencil.errors import PencilError
from pencil.results.columns_file import write_columns

Option = typer.Option
Counts = dict[str, Any]


@guarded
def labels(
    run: FinishedRun,
    apply: Annotated[bool, Option("--apply", help="Write the final labels.")] = False,
    out: Annotated[
        Path | None, Option(help="File to write, .csv or .parquet (final_labels.csv in the run folder).")
    ] = None,
    keep_quality: Annotated[float | None, Option(help="Least quality of a label that is kept unseen (0.5).")] = None,
    relabel_confidence: Annotated[
        float | None, Option(help="Least confidence of a label that replaces the given one unseen (0.7).")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Show the counts as JSON.")] = False,
) -> None:
    """Show how many labels each choice touches; with --apply write the final ones.

    \b
      pencil labels run
      pencil labels run --relabel-confidence 0.9 --apply --out final.csv

    What a person decided in `pencil review` stands. Otherwise the run's decision holds: keep, relabel, or review,
    which leaves the given label and marks it undecided.
    """
    if out is not None and not apply:
        raise PencilError("--out names a file to write; add --apply.")
    check_out(out)
    moved = {"keep_quality": keep_quality, "relabel_confidence": relabel_confidence}
    given = {name: value for name, value in moved.items() if value is not None}
    counts = _settle(run, given, apply=apply, out=out)
    typer.echo(json.dumps(counts, indent=2) if as_json else _text(counts, run))


def _settle(run: Path, moved: dict[str, float], *, apply: bool, out: Path | None) -> Counts:
    import numpy as np

    from pencil.quality.decide import Thresholds, count
    from pencil.quality.thresholds import decide_again, touched_by
    from pencil.results.decisions import reviewed
    from pencil.results.final import count_sources, final_labels
    from pencil.results.labels_table import check_labels
    from pencil.results.read import read_run

    thresholds = Thresholds(**moved)
    opened = read_run(run)
    table, classes = opened.labels, opened.classes
    check_labels(table, len(classes), opened.folder.labels)
    careful = "caution" in opened.result
    own = np.asarray(table["decision"]).astype(np.str_)
    decision = decide_again(table, thresholds, careful=careful) if moved else own
    final = final_labels(table, classes, reviewed(opened.folder), decision)
    given, ended = (np.asarray(final[name].fill_null(-1)) for name in ("given", "final"))
    differ = {"changed": (given >= 0) & (ended != given), "filled": (given < 0) & (ended >= 0)}
    counts: Counts = {
        "labels": final.num_rows,
        "final": count_sources(final) | {name: int(np.count_nonzero(rows)) for name, rows in differ.items()},
        "thresholds": vars(thresholds),
        "decisions": count(decision),
        "touched": touched_by(table, thresholds, careful=careful),
    }
    if apply:
        counts["written"] = str(out or opened.folder.final_labels)
        write_columns({name: final[name] for name in final.column_names}, out or opened.folder.final_labels)
    return counts


def _text(counts: Counts, run: Path) -> str:
    final = counts["final"]
    filled = f", {final['filled']:,} are where none was given" if final["filled"] else ""
    lines = [
        f"{counts['labels']:,} labels: {final['reviewed']:,} reviewed by people, {final['relabelled']:,} relabelled by"
        f" the run, {final['given']:,} kept as given, {final['undecided']:,} undecided (kept, still in doubt);"
        f" {final['changed']:,} differ from the given ones{filled}."
    ]
    if "written" in counts:
        return "\n".join([*lines, f"written to {counts['written']}"])
    for name, rows in counts["touched"].items():
        lines += ["", *_table(name, rows, counts["thresholds"][name])]
    return "\n".join([*lines, "", f"write them with: pencil labels {shlex.quote(str(run))} --apply"])


def _table(name: str, rows: dict[float, dict[str, int]], chosen: float) -> list[str]:
    """Show what each value of a threshold would do before people's decisions are laid over it."""
    title = f"--{name.replace('_', '-')}"
    lines = [f"{title:<22}{'keep':>10}{'relabel':>10}{'review':>10}"]
    for value, row in rows.items():
        mark = "  <" if value == chosen else ""
        lines.append(f"{value:<22g}" + "".join(f"{number:>10,}" for number in row.values()) + mark)
    return lines
