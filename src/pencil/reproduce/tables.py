"""Lays a comparison out: the paper's table with ours beside it, the list of runs, and one CSV line a number."""

import csv
import io
from collections.abc import Sequence

from pencil.reproduce.compare import Entry, Line, compare, told_more
from pencil.reproduce.lengths import STEP_STAYS, keeps_step
from pencil.reproduce.page import Grid, Heading, Part
from pencil.reproduce.paper import MEASURES
from pencil.reproduce.record import Record
from pencil.reproduce.recorded import EPOCHS, other_than_planned
from pencil.reproduce.studies import SCHEDULES, SPLIT
from pencil.reproduce.study import Study
from pencil.results.summary import STAR

MISSING, NONE = "missing", "–"
COLUMNS = "compiled is its time without compilation, at once how many runs at most shared the machine."
"""What must be known to read the list of runs."""
STARRED = "* uses information that PENCIL does not (the true noise, clean labels or class shares)."
CSV_HEADS = (
    "study", "system", "title", "uses_extra_information", "quoted_from", "cell", "noise", "measure", "paper",
    "paper_std", "ours", "ours_std", "trials", "difference",
)  # fmt: skip


def comparison(study: Study, records: Sequence[Record], *, dataset: str = "") -> list[Part]:
    """Return a study's table with what must be known to read it."""
    lines = compare(study, records)
    return [*_notes(study, lines, dataset), *_otherwise(study, records), _grid(study, lines)]


def other_dataset(study: Study, records: Sequence[Record]) -> str:
    """Return the dataset that records are of, if it is another than the study's own; else nothing."""
    return ", ".join(sorted({str(record["dataset"]) for record in records} - {study.dataset}))


def _notes(study: Study, lines: Sequence[Line], dataset: str) -> list[Part]:
    notes: list[Part] = list(study.notes)
    if dataset and dataset != study.dataset:
        notes = [
            f"This is not the paper's experiment: ours is the dataset {dataset} with the recipe auto and its own test "
            f"set, so the differences only show that the whole path works.",
            *(note for note in study.notes if note not in (SPLIT, SCHEDULES)),
        ]
    trials = study.paper.trials
    told = f"the mean of {trials} trials" if trials else "a single number, trials not stated"
    notes.append(
        f"Paper: {told}. Ours: mean ± sample standard deviation over the trials in brackets; difference is ours less "
        f"the paper's; a cell without a run is {MISSING}."
    )
    if any("accuracy" in row.values and row.values["accuracy"] for row in study.paper.rows):
        notes.append("Where the paper does not say whether a number is best or last, it stands beside both.")
    notes += _quoted(lines)
    if any(line.starred for line in lines):
        notes.append(STARRED)
    return notes


def _otherwise(study: Study, records: Sequence[Record]) -> list[Part]:
    """Say which settings of ours are not those of the table."""
    other = other_than_planned(study, records)
    if not other:
        return []
    said = f"Not all of ours are this table's experiment: they were run with other settings ({', '.join(other)})."
    stays = EPOCHS in other and any(keeps_step(record.get("asked", {}).get("options", {})) for record in records)
    return [f"{said} {STEP_STAYS}" if stays else said]


def _quoted(lines: Sequence[Line]) -> list[Part]:
    by_source: dict[str, list[str]] = {}
    for line in lines:
        if line.quoted:
            by_source.setdefault(line.quoted, []).append(line.title)
    return [f"Rows that the paper quotes from {source}: {', '.join(rows)}." for source, rows in by_source.items()]


def _grid(study: Study, lines: Sequence[Line]) -> Grid:
    rows: list[tuple[str, ...]] = []
    for line in lines:
        for measure in MEASURES:
            first = line.title if measure == MEASURES[0] else ""
            entries = line.of(measure)
            rows.append((first, measure, "paper", *(printed(entry) for entry in entries)))
            rows.append(("", "", "ours", *(ours(entry) for entry in entries)))
            rows.append(("", "", "difference", *(difference(entry) for entry in entries)))
    return Grid(("method", "", "", *(cell.title for cell in study.cells)), tuple(rows))


def printed(entry: Entry) -> str:
    """Return the paper's number as a table shows it."""
    return NONE if entry.printed is None else entry.printed.text.replace("±", " ± ")


def ours(entry: Entry) -> str:
    """Return our mean, its spread and how many trials it is of."""
    if not entry.wanted and not entry.ours:
        return NONE
    if entry.mean is None:
        return MISSING
    spread = "" if entry.spread is None else f" ± {entry.spread:.2f}"
    return f"{entry.mean:.2f}{spread} ({len(entry.ours)})"


def difference(entry: Entry) -> str:
    """Return ours less the paper's, with its sign."""
    return NONE if entry.difference is None else f"{entry.difference:+.2f}".replace("-", "−")


def runs(records: Sequence[Record], title: str = "Runs") -> list[Part]:
    """Return the list of a study's runs with hardware and time; nothing where there are none."""
    if not records:
        return []
    heads = (
        "method", "cell", "seed", "best", "last", "labels given", "corrected", "AUPRC", "epochs", "at once",
        "minutes", "compiled, s", "images/s", "hardware", "versions",
    )  # fmt: skip
    ordered = sorted(records, key=lambda r: (r["system"], r["cell"], int(r["seed"])))
    return [Heading(title, 3), Grid(heads, tuple(_run(record) for record in ordered))]


def _run(record: Record) -> tuple[str, ...]:
    def number(group: str, name: str, digits: int = 2) -> str:
        value = (record.get(group) or {}).get(name)
        return NONE if value is None else f"{value:.{digits}f}"

    made = record.get("environment", {})
    # A run from a source tree has no version but its commit.
    found = {
        "pencil": made.get("pencil"),
        "commit": str(made.get("commit", "unknown"))[:10],
        "torch": made.get("torch"),
    }
    versions = ", ".join(f"{name} {value}" for name, value in found.items() if value not in (None, "unknown"))
    for each in made.get("earlier", ()):
        versions += f"; until epoch {each['until_epoch']} commit {str(each.get('commit', 'unknown'))[:10]}"
        versions += f" on {each['device']}" if each.get("device") != made.get("device") else ""
    return (
        record["system"] + STAR * told_more(record), record["cell"], str(record["seed"]),
        number("test_accuracy", "best"), number("test_accuracy", "last"),
        number("label_accuracy", "given"), number("label_accuracy", "corrected"),
        number("detection", "auprc", 4), str(record["epochs"]), str(record.get("at_once", NONE)),
        f"{record['seconds'] / 60:.1f}",
        f"{record['seconds_compiled']:.0f}" if "seconds_compiled" in record else NONE,
        f"{record['images_per_second']:.0f}",
        f"{made.get('device', 'unknown')}, {made.get('precision', '?')}", versions,
    )  # fmt: skip


def csv_text(study: Study, records: Sequence[Record]) -> str:
    """Return one line a number; what is missing is empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_HEADS)
    for line in compare(study, records):
        for entry in line.entries:
            if entry.wanted or entry.ours:
                writer.writerow(_csv_row(study, line, entry))
    return buffer.getvalue()


def _csv_row(study: Study, line: Line, entry: Entry) -> tuple[object, ...]:
    def text(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    paper = entry.printed
    shown = ("", "") if paper is None else (paper.text.partition("±")[0], text(paper.spread))
    return (
        study.name, line.system.name, line.system.title, "yes" if line.starred else "no", line.quoted,
        entry.cell.name, entry.cell.noise, entry.measure, *shown, text(entry.mean), text(entry.spread),
        len(entry.ours), text(entry.difference),
    )  # fmt: skip
