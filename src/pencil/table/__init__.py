"""The example table: every per-example value of a run, and the rules by which labels move."""

from pencil.table.columns import Rows, distribution_of
from pencil.table.dense import ExampleTable
from pencil.table.initial import initial_label_logits
from pencil.table.mapped import MappedTable
from pencil.table.rules import EpochAverage, Fixed, GradientStep, MovingAverage, Rule
from pencil.table.top import TopTable

KINDS: dict[str, type[ExampleTable]] = {"dense": ExampleTable, "top": TopTable, "mapped": MappedTable}
"""By the names that settings have for them."""

__all__ = [
    "KINDS",
    "EpochAverage",
    "ExampleTable",
    "Fixed",
    "GradientStep",
    "MappedTable",
    "MovingAverage",
    "Rows",
    "Rule",
    "TopTable",
    "distribution_of",
    "initial_label_logits",
]
