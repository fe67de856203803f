"""Bootstrapping: labels mixed with the network's prediction (Reed et al., ICLR 2015 workshop)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from torch import Tensor

from pencil.config.ranges import POSITIVE_SHARE
from pencil.losses import bootstrap_soft
from pencil.methods._once import TrainedOnce
from pencil.types import Batch


@dataclass(frozen=True, kw_only=True)
class Options:
    """How far the given label counts."""

    given_share: Annotated[float, POSITIVE_SHARE] = 0.95
    """b, the share of the given label in the target; 1 is cross entropy."""


class BootstrapSoft(TrainedOnce):
    """b·ŷ + (1 − b)·f as the target."""

    Options: ClassVar[type] = Options

    def cost(self, batch: Batch) -> Tensor:
        return bootstrap_soft(batch.logits, batch.given, self.options.given_share)


METHOD = BootstrapSoft
