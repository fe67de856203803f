"""What the engine tells the outside while it trains."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.types import Phase

EpochRecord = dict[str, Any]


class Listener:
    """Receives progress, epoch records and checkpoints; decides when to stop. This one lets everything pass."""

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """A step was queued."""

    def epoch_done(self, record: EpochRecord) -> None:
        """An epoch is complete and measured."""

    def replanned(self, phases: tuple[Phase, ...]) -> None:
        """A phase ended before its time."""

    def checkpoint_due(self, *, phase_end: bool) -> bool:
        """Say whether a checkpoint should be written now, at the end of an epoch."""
        return False

    def save(self, tensors: dict[str, NDArray[np.generic]], meta: dict[str, Any]) -> None:
        """Write a checkpoint."""

    def stop_requested(self) -> bool:
        """Say whether a person or the system asked to stop."""
        return False

    def note(self, line: str) -> None:
        """A line for the log."""


class Stopped(Exception):
    """Training stopped on request; a checkpoint of this very moment is saved."""
