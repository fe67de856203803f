"""Tells when a phase has learned what it can: the loss on the noisy held-out labels no longer falls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pencil.engine.watched import ignorance


@dataclass
class Patience:
    """How low the loss got in this phase, and how long ago."""

    lowest: float | None = None
    stale: int = 0
    """Epochs since then."""

    def wears_out(self, record: Mapping[str, Any], most: int) -> bool:
        """Look at an epoch's loss; say whether it is time to leave. Without held-out labels it never is."""
        loss = ignorance(record)
        if not most or loss is None:
            return False
        if self.lowest is None or loss < self.lowest:
            self.lowest, self.stale = float(loss), 0
        else:
            self.stale += 1
        return self.is_out(most)

    def is_out(self, most: int) -> bool:
        """Say whether the loss has not fallen for so many epochs; 0 stands for endless patience."""
        return 0 < most <= self.stale
