"""What a study is: the dataset and network of a table, one cell a column, one system a row."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pencil.reproduce.paper import PaperTable, paper_tables
from pencil.reproduce.systems import SYSTEMS, System


@dataclass(frozen=True)
class Cell:
    """One column of a table: data and settings, whatever the system."""

    name: str
    title: str
    recipe: str
    noise: str = ""
    human: str = ""
    """Which of the labels that people gave (CIFAR-N), in place of the dataset's own."""


@dataclass(frozen=True)
class Study:
    """One table."""

    name: str
    title: str
    dataset: str
    backbone: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]
    """What must be known to read the numbers: noise, split, best and last."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the data that differ from the defaults."""
    pretrained: bool = False
    """Whether its network starts from published weights."""

    @property
    def paper(self) -> PaperTable:
        """The paper's numbers."""
        return paper_tables()[self.name]

    @property
    def systems(self) -> tuple[System, ...]:
        """The rows of the paper's table."""
        return tuple(SYSTEMS[row.system] for row in self.paper.rows)
