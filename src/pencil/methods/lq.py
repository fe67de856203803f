"""Generalized cross entropy L_q, between cross entropy and mean absolute error (Zhang & Sabuncu, NeurIPS 2018)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from pencil.losses import generalized_cross_entropy
from pencil.methods._once import TrainedOnce, within
from pencil.types import Batch


@dataclass(frozen=True, kw_only=True)
class Options:
    """Where between cross entropy and mean absolute error the loss lies."""

    q: float = 0.7
    """Near 0 it is cross entropy, at 1 half the mean absolute error."""


class GeneralizedCrossEntropy(TrainedOnce):
    """(1 − f_ŷ^q)/q."""

    Options: ClassVar[type] = Options

    def __init__(self, options: Mapping[str, Any], num_classes: int) -> None:
        super().__init__(options, num_classes)
        self.q = within(self.options, "q", 0, 1, above=True)

    def cost(self, batch: Batch) -> Tensor:
        return generalized_cross_entropy(batch.logits, batch.given, self.q)


METHOD = GeneralizedCrossEntropy
