"""How far PENCIL's own cells lie from the paper's, before all else that was run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pencil.reproduce.compare import Entry, compare
from pencil.reproduce.page import Grid, Heading, Part
from pencil.reproduce.record import Record
from pencil.reproduce.recorded import other_than_planned
from pencil.reproduce.studies import STUDIES
from pencil.reproduce.study import Study
from pencil.reproduce.tables import difference, other_dataset, ours, printed

OF_THE_PAPER = ("table2", "table3", "table4")
"""The tables of noise at one rate a cell, of networks that start from nothing."""
PENCIL = "pencil"
NEAR = 0.5
"""Points of test accuracy."""
TRIED = Path("decisions/0015-distance-to-the-paper.md")
HEADS = ("table", "cell", "paper", "ours", "difference")


def distance(records: Mapping[str, Sequence[Record]], base: Path) -> list[Part]:
    """Return PENCIL's last epochs beside the paper's, cell by cell, for a page in the folder `base`."""
    found = [(study, _last_epochs(study, records[study.name])) for study in map(STUDIES.__getitem__, OF_THE_PAPER)]
    found = [(study, entries) for study, entries in found if _known(entries)]
    if not found:
        return []
    near = "; ".join(f"{_near(entries)} of {len(_known(entries))} in {_name(study)}" for study, entries in found)
    said = (
        "Test accuracy at the last epoch, with the paper's settings for each cell. Cells that lie above the paper, or"
        f" no more than {NEAR} points below it: {near}."
    )
    if (base / TRIED).exists():
        said += f" What was tried where more is missing: [decision {int(TRIED.name[:4])}]({TRIED.as_posix()})."
    rows = tuple(_row(study, entry) for study, entries in found for entry in entries)
    return [Heading("PENCIL beside the paper"), said, Grid(HEADS, rows)]


def _last_epochs(study: Study, records: Sequence[Record]) -> list[Entry]:
    """Return a table's row of PENCIL; nothing where other data or settings than the paper's were run."""
    own = [record for record in records if record["system"] == PENCIL]
    if other_dataset(study, own) or other_than_planned(study, own):
        return []
    return next(line for line in compare(study, own) if line.system.name == PENCIL).of("last")


def _known(entries: Sequence[Entry]) -> list[float]:
    return [entry.difference for entry in entries if entry.difference is not None]


def _near(entries: Sequence[Entry]) -> int:
    return sum(round(points, 2) >= -NEAR for points in _known(entries))


def _name(study: Study) -> str:
    return study.title.partition(":")[0]


def _row(study: Study, entry: Entry) -> tuple[str, ...]:
    return _name(study), entry.cell.title, printed(entry), ours(entry), difference(entry)
