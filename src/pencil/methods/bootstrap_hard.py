"""Bootstrapping: labels mixed with the network's own class (Reed et al., ICLR 2015 workshop)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from pencil.losses import bootstrap_hard
from pencil.methods._once import TrainedOnce, within
from pencil.types import Batch


@dataclass(frozen=True, kw_only=True)
class Options:
    """How far the given label counts."""

    given_share: float = 0.8
    """b, the share of the given label in the target; 1 is cross entropy."""


class BootstrapHard(TrainedOnce):
    """b·ŷ + (1 − b)·argmax f as the target."""

    Options: ClassVar[type] = Options

    def __init__(self, options: Mapping[str, Any], num_classes: int) -> None:
        super().__init__(options, num_classes)
        self.given_share = within(self.options, "given_share", 0, 1, above=True)

    def cost(self, batch: Batch) -> Tensor:
        return bootstrap_hard(batch.logits, batch.given, self.given_share)


METHOD = BootstrapHard
