"""A quantity over the epochs of a phase, written as a short text.

"0.08"                        constant
"0.2, 0.02@40, 0.002@80"      steps: from epoch 40 of the phase 0.02, from epoch 80 0.002
"3000 -> 0"                   linear
"0.1 ~> 0"                    cosine
"""

import math
from dataclasses import dataclass
from typing import Literal

from pencil.errors import PencilError


@dataclass(frozen=True)
class Schedule:
    """Values and the epochs at which they start (steps), or a start and an end (linear, cosine)."""

    kind: Literal["steps", "linear", "cosine"]
    values: tuple[float, ...]
    starts: tuple[float, ...] = (0.0,)

    @classmethod
    def parse(cls, text: "str | float | Schedule") -> "Schedule":
        """Read a schedule from its text, or from a plain number."""
        if isinstance(text, Schedule):
            return text
        try:
            return cls._parse(str(text))
        except ValueError:
            raise PencilError(
                f'cannot read the schedule "{text}". Write a number, 0 or more, "0.2, 0.02@40" (steps), '
                f'"3000 -> 0" (linear) or "0.1 ~> 0" (cosine).'
            ) from None

    @classmethod
    def _parse(cls, text: str) -> "Schedule":
        for kind, arrow in (("cosine", "~>"), ("linear", "->")):
            if arrow in text:
                start, end = (_finite(part) for part in text.split(arrow))
                return cls(kind, (start, end))  # type: ignore[arg-type]
        values, starts = [], []
        for number, part in enumerate(text.split(",")):
            value, _, epoch = part.partition("@")
            values.append(_finite(value))
            starts.append(_finite(epoch) if number else 0.0)
            if (number == 0) == bool(epoch) or starts != sorted(set(starts)):
                raise ValueError(text)
        return cls("steps", tuple(values), tuple(starts))

    def __str__(self) -> str:
        # All digits are kept: config.toml must give back the very same schedule.
        values, starts = ([repr(float(n)).removesuffix(".0") for n in ns] for ns in (self.values, self.starts))
        if self.kind == "steps":
            return ", ".join([values[0], *(f"{v}@{s}" for v, s in zip(values[1:], starts[1:], strict=True))])
        return f"{values[0]} {'->' if self.kind == 'linear' else '~>'} {values[1]}"

    def at(self, epoch: float, epochs: int) -> float:
        """Return the value at a (fractional) epoch of a phase of that many epochs."""
        if self.kind == "steps":
            return [v for v, s in zip(self.values, self.starts, strict=True) if s <= epoch][-1]
        start, end = self.values
        done = min(epoch / epochs, 1.0) if epochs else 1.0
        if self.kind == "cosine":
            done = (1 - math.cos(math.pi * done)) / 2
        return start + (end - start) * done

    def stretched(self, factor: float) -> "Schedule":
        """Return the same schedule for a phase `factor` times as long."""
        return Schedule(self.kind, self.values, tuple(s * factor for s in self.starts))

    def times(self, factor: float) -> "Schedule":
        """Return the schedule with all its values multiplied."""
        return Schedule(self.kind, tuple(v * factor for v in self.values), self.starts)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number) or number < 0:
        raise ValueError(text)
    return number
