"""Generalized cross entropy L_q, between cross entropy and mean absolute error (Zhang & Sabuncu, NeurIPS 2018)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from torch import Tensor

from pencil.config.ranges import POSITIVE_SHARE
from pencil.losses import generalized_cross_entropy
from pencil.methods._once import TrainedOnce
from pencil.types import Batch


@dataclass(frozen=True, kw_only=True)
class Options:
    """Where between cross entropy and mean absolute error the loss lies."""

    q: Annotated[float, POSITIVE_SHARE] = 0.7
    """Near 0 it is cross entropy, at 1 half the mean absolute error."""


class GeneralizedCrossEntropy(TrainedOnce):
    """(1 − f_ŷ^q)/q."""

    Options: ClassVar[type] = Options

    def cost(self, batch: Batch) -> Tensor:
        return generalized_cross_entropy(batch.logits, batch.given, self.options.q)


METHOD = GeneralizedCrossEntropy
