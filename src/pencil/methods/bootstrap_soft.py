"""Bootstrapping: labels mixed with the network's prediction (Reed et al., ICLR 2015 workshop)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from pencil.losses import bootstrap_soft
from pencil.methods._once import TrainedOnce, within
from pencil.types import Batch


@dataclass(frozen=True, kw_only=True)
class Options:
    """How far the given label counts."""

    given_share: float = 0.95
    """b, the share of the given label in the target; 1 is cross entropy."""


class BootstrapSoft(TrainedOnce):
    """b·ŷ + (1 − b)·f as the target."""

    Options: ClassVar[type] = Options

    def __init__(self, options: Mapping[str, Any], num_classes: int) -> None:
        super().__init__(options, num_classes)
        self.given_share = within(self.options, "given_share", 0, 1, above=True)

    def cost(self, batch: Batch) -> Tensor:
        return bootstrap_soft(batch.logits, batch.given, self.given_share)


METHOD = BootstrapSoft
