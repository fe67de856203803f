"""Tells when a phase has learned what it can: the loss on the noisy held-out labels no longer falls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from pencil.engine.watched import ignorance

LONG = 6
"""Times its patience after which a phase has had time enough, also where it still learns."""


@dataclass
class Patience:
    """The losses of the last epochs of this phase.

    One epoch's loss is a matter of chance where most labels are wrong: it tells little of them, and falls by little. So
    the mean of some epochs is compared with the mean of as many before.
    """

    losses: list[float] = field(default_factory=list)

    def wears_out(self, record: Mapping[str, Any], most: int) -> bool:
        """Look at an epoch's loss; say whether it is time to leave. Without held-out labels it never is."""
        loss = ignorance(record)
        if not most or loss is None:
            return False
        self.losses = [*self.losses[1 - 2 * most :], float(loss)]
        return self.is_out(most)

    def is_out(self, most: int) -> bool:
        """Say whether the last so many epochs are no better than those before; 0 stands for endless patience."""
        if not most or len(self.losses) < 2 * most:
            return False
        return fmean(self.losses[-most:]) >= fmean(self.losses[-2 * most : -most])

    def has_learned(self, most: int, epochs: int) -> bool:
        """Say whether a phase that ended after so many epochs has learned what it can, or had time enough for it."""
        return self.is_out(most) or 0 < LONG * most <= epochs
