"""A method of your own: labels that follow the network slowly.

pencil train digits --noise symmetric:0.4 --method examples/own_method.py:METHOD --set memory=0.9
"""

from dataclasses import dataclass
from typing import Annotated

from pencil.config import Range
from pencil.losses import cross_entropy
from pencil.methods import Method
from pencil.table import Fixed, MovingAverage
from pencil.types import Phase, Terms


@dataclass(frozen=True, kw_only=True)
class Options:
    memory: Annotated[float, Range(0, 1)] = 0.9
    """How much of a label is kept each epoch; the rest becomes the network's prediction."""


class SlowLabels(Method):
    """Cross entropy on the given labels, then on y ← m·y + (1 − m)·f."""

    Options = Options
    phase_names = ("given", "moving")

    def phases(self, settings):
        given, moving = (self.phase_setting(settings, name) for name in self.phase_names)
        return (
            Phase("given", given.epochs, given.lr, Fixed()),
            Phase("moving", moving.epochs, moving.lr, MovingAverage(self.options.memory), track_predictions=True),
        )

    def loss(self, batch):
        target = batch.given if batch.phase == "given" else batch.label_logits.softmax(-1)
        return Terms({"cross_entropy": cross_entropy(batch.logits, target)})


METHOD = SlowLabels
