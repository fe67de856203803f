"""Ours beside the paper's: for each system, cell and measure the mean, the spread and the difference."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from pencil import methods
from pencil.config.own_code import MARK
from pencil.errors import PencilError
from pencil.reproduce.paper import MEASURES, Printed
from pencil.reproduce.record import Record
from pencil.reproduce.study import Cell, Study
from pencil.reproduce.systems import System
from pencil.results.summary import STAR


@dataclass(frozen=True)
class Entry:
    """One number of a table."""

    cell: Cell
    measure: str
    printed: Printed | None
    """The paper's, None where it has none."""
    ours: tuple[float, ...]
    """One value a trial, in the order of the seeds."""
    wanted: bool = True
    """False where the row has no such cell."""

    @property
    def mean(self) -> float | None:
        return mean(self.ours) if self.ours else None

    @property
    def spread(self) -> float | None:
        """The sample standard deviation; one trial has none."""
        return stdev(self.ours) if len(self.ours) > 1 else None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.mean is None or self.printed is None or self.printed.mean is None:
            return None
        return self.mean - self.printed.mean


@dataclass(frozen=True)
class Line:
    """One system's numbers, cell by cell, best then last."""

    system: System
    starred: bool
    quoted: str
    entries: tuple[Entry, ...]

    @property
    def title(self) -> str:
        return self.system.title + STAR * self.starred

    def of(self, measure: str) -> list[Entry]:
        """Return the entries of one measure."""
        return [entry for entry in self.entries if entry.measure == measure]


def compare(study: Study, records: Sequence[Record]) -> list[Line]:
    """Return the paper's rows with ours, then the systems that only we ran."""
    listed = {system.name: system for system in study.systems}
    for record in records:
        name = record["system"]
        if name not in listed:
            listed[name] = System(name, str(record.get("title") or name), str(record["method"]))
    return [_line(study, system, [r for r in records if r["system"] == system.name]) for system in listed.values()]


def _line(study: Study, system: System, records: Sequence[Record]) -> Line:
    row = study.paper.row(system.name)
    entries = tuple(
        Entry(
            cell,
            measure,
            row.printed(measure, cell.name) if row else None,
            values(records, cell, measure),
            row is None or cell.name in row.cells,
        )
        for measure in MEASURES
        for cell in study.cells
    )
    starred = (row is not None and row.starred) or system.starred or uses_more(system.method)
    starred = starred or any(told_more(record) for record in records)
    return Line(system, starred, row.quoted if row else "", entries)


def values(records: Sequence[Record], cell: Cell, measure: str) -> tuple[float, ...]:
    """Return the test accuracies of a cell's trials."""
    found = sorted((r for r in records if r["cell"] == cell.name), key=lambda record: int(record["seed"]))
    numbers = ((record.get("test_accuracy") or {}).get(measure) for record in found)
    return tuple(float(number) for number in numbers if number is not None)


def told_more(record: Record) -> bool:
    """Say whether a run was told more than PENCIL is, by its method or by its options."""
    return bool(record.get("extra_information")) or uses_more(str(record["method"]))


def uses_more(method: str) -> bool:
    """Say whether a method is told more than PENCIL is; one that is not installed here tells nothing."""
    if MARK in method:  # Code named in a record is not imported.
        return False
    try:
        return bool(methods.kind(method).extra_information)
    except PencilError:
        return False
