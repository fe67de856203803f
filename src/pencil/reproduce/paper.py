"""The paper's numbers, read from paper_tables.toml, and its curves, read from paper_figures.toml."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("paper_tables.toml")
CURVES = Path(__file__).with_name("paper_figures.toml")
MEASURES = ("best", "last")
NOT_THERE, NO_NUMBER = ".", "?"


@dataclass(frozen=True)
class Printed:
    """A number as the paper prints it."""

    text: str
    mean: float | None = None
    """None where the paper prints a word, e.g. fail."""
    spread: float | None = None
    """The standard deviation, where one is given."""


@dataclass(frozen=True)
class PaperRow:
    """One system's numbers."""

    system: str
    number: int
    """As printed in front of the row."""
    quoted: str
    """Whose numbers the authors quote; empty where they ran it themselves."""
    starred: bool
    """It used information that PENCIL does not."""
    cells: tuple[str, ...]
    """Cells that the row has, whether or not the paper has a number for them."""
    values: Mapping[str, Mapping[str, Printed]]
    """By measure (best, last, or accuracy where the paper does not say which), then by cell."""

    def printed(self, measure: str, cell: str) -> Printed | None:
        """Return the paper's number for best or last; one whose rule is not stated stands for both."""
        for name in (measure, "accuracy"):
            if cell in self.values.get(name, {}):
                return self.values[name][cell]
        return None


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper."""

    trials: int
    """How many the authors averaged; 0 where they do not say."""
    cells: tuple[str, ...]
    rows: tuple[PaperRow, ...]

    def row(self, system: str) -> PaperRow | None:
        """Return a system's row, None where the paper has none."""
        return next((row for row in self.rows if row.system == system), None)


@dataclass(frozen=True)
class PaperCurve:
    """Correct labels of CIFAR-10's 45,000 as the authors drew them, by epoch of label learning."""

    epochs: Sequence[int]
    correct: Sequence[int]


@cache
def paper_curves() -> Mapping[str, PaperCurve]:
    """Read the authors' curves, by figure."""
    document = tomllib.loads(CURVES.read_text(encoding="utf-8"))
    return {name: PaperCurve(**curve) for name, curve in document.items()}


@cache
def paper_tables() -> Mapping[str, PaperTable]:
    """Read all tables."""
    document = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: _table(table) for name, table in document.items()}


def _table(table: Mapping[str, Any]) -> PaperTable:
    cells = tuple(table["cells"].split())
    return PaperTable(table["trials"], cells, tuple(_row(row, cells) for row in table["rows"]))


def _row(row: Mapping[str, Any], cells: tuple[str, ...]) -> PaperRow:
    texts = {name: dict(zip(cells, row[name].split(), strict=True)) for name in (*MEASURES, "accuracy") if name in row}
    values = {
        name: {cell: parse(text) for cell, text in by_cell.items() if text not in (NOT_THERE, NO_NUMBER)}
        for name, by_cell in texts.items()
    }
    had = tuple(cell for cell in cells if any(by_cell[cell] != NOT_THERE for by_cell in texts.values()))
    return PaperRow(row["system"], row["number"], row.get("quoted", ""), row.get("starred", False), had, values)


def parse(text: str) -> Printed:
    """Read "73.86±0.34", "92.4" or a word."""
    found = re.fullmatch(r"([\d.]+)(?:±([\d.]+))?", text)
    if found is None:
        return Printed(text)
    return Printed(text, float(found[1]), None if found[2] is None else float(found[2]))
