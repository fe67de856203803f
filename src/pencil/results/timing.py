"""What a run takes where its steps are compiled already."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any


def seconds_compiled(history: Sequence[Mapping[str, Any]]) -> float:
    """Return the sum over phases of so many median epochs: the first of a phase, which compiles, counts as another."""
    names = {epoch["phase"] for epoch in history}
    phases = [[float(epoch["seconds"]) for epoch in history if epoch["phase"] == name] for name in names]
    return round(sum(len(seconds) * median(seconds) for seconds in phases), 1)
