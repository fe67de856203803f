"""The example table: every per-example value of a run, and the rules by which labels move."""

from pencil.table.dense import ExampleTable
from pencil.table.initial import initial_label_logits
from pencil.table.rules import EpochAverage, Fixed, GradientStep, MovingAverage, Rule

__all__ = ["EpochAverage", "ExampleTable", "Fixed", "GradientStep", "MovingAverage", "Rule", "initial_label_logits"]
