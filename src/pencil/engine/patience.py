"""Tells when a phase has learned what it can: the loss on the noisy held-out labels hardly falls any more."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from pencil.engine.watched import ignorance

LONG = 6
"""Times its patience after which a phase has had time enough, also where it still learns."""
SLOW = 1000
"""Epochs it would take, at this pace, to learn as much again: whoever takes so many is not waited for."""


@dataclass
class Patience:
    """The losses of all epochs of this phase.

    One epoch's loss is a matter of chance where most labels are wrong: it tells little of them, and falls by little. So
    the mean over the last quarter of the epochs is compared with the mean over the quarter before, and what it fell by
    with what the phase has learned in all: a loss that is slow from the start, as it is where most labels are wrong, is
    given the time it takes.
    """

    losses: list[float] = field(default_factory=list)

    def wears_out(self, record: Mapping[str, Any], most: int) -> bool:
        """Look at an epoch's loss; say whether it is time to leave. Without one, or one that is finite, it never is."""
        loss = ignorance(record)
        if not most or loss is None or not math.isfinite(loss):
            return False
        self.losses.append(float(loss))
        return self.is_out(most)

    def is_out(self, most: int) -> bool:
        """Say whether a phase learns too slowly by now, over so many epochs at least; 0 stands for endless patience."""
        window = max(most, len(self.losses) // 4)
        if not most or len(self.losses) < 2 * window:
            return False
        before, now = fmean(self.losses[-2 * window : -window]), fmean(self.losses[-window:])
        return (before - now) / window <= max(self.losses[0] - now, 0) / SLOW

    def has_learned(self, most: int, epochs: int) -> bool:
        """Say whether a phase that ended after so many epochs has learned what it can, or had time enough for it."""
        return self.is_out(most) or 0 < LONG * most <= epochs
