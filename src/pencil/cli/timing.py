"""How long the rest of a run will take, from the epochs measured so far."""

import time
from collections import deque
from dataclasses import dataclass, field
from statistics import median


@dataclass
class Clock:
    """Follows a run from step to step; times are in seconds."""

    total: int
    """Epochs of the whole run."""
    done: int = 0
    part: float = 0.0
    """Share of the present epoch that is done."""
    began: float = field(default_factory=lambda: time.monotonic())
    """When the present epoch began."""
    warming: bool = True
    skipped: float | None = None
    """Share of the first epoch that an earlier sitting did."""
    lengths: deque[float] = field(default_factory=lambda: deque(maxlen=20))

    def stepped(self, step: int, steps: int) -> None:
        """A step of the present epoch was taken."""
        self.part = step / steps
        if self.skipped is None:
            self.skipped = (step - 1) / steps

    def epoch_done(self, epochs: int) -> None:
        """Another epoch is complete."""
        now = time.monotonic()
        # The first epoch warms up caches and compiles; a later one says more.
        if self.warming and self.lengths:
            self.lengths.clear()
            self.warming = False
        self.lengths.append((now - self.began) / (1 - (self.skipped or 0.0)))
        self.done, self.part, self.skipped, self.began = epochs, 0.0, 0.0, now

    def left(self) -> float | None:
        """Estimate the seconds to the end of the run; None where nothing is measured yet."""
        if self.done >= self.total:
            return 0.0
        spent = time.monotonic() - self.began
        if self.lengths:
            one = median(self.lengths)
            return max(one * (self.total - self.done) - min(spent, one), 0.0)
        measured = self.part - (self.skipped or 0.0)
        return None if measured < 0.02 else spent / measured * (self.total - self.done - self.part)


def spoken(seconds: float | None) -> str:
    """Return a time as 0:42, 12:05 or 3 h 20 min; – where it is not known."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
