"""Which numbers a setting may have, said where the setting is declared.

share: Annotated[float, Range(0, 1)] = 0.5
"""

import math
from dataclasses import dataclass

from pencil.errors import PencilError


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`; with `above` and `below` the ends themselves are outside. Infinity always is."""

    low: float
    high: float = math.inf
    above: bool = False
    below: bool = False

    def check(self, value: float, where: str) -> None:
        """Refuse a number outside, in one line that says what is allowed."""
        high_enough = value > self.low if self.above else value >= self.low
        low_enough = value < self.high if self.below else value <= self.high
        if not (high_enough and low_enough and abs(value) < math.inf):
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            raise PencilError(f"{where} is {shown}; give {self}.")

    def __str__(self) -> str:
        start = f"more than {self.low:.12g}" if self.above else f"{self.low:.12g}"
        if self.high < math.inf:
            return f"a number from {start} {'up to, not including,' if self.below else 'to'} {self.high:.12g}"
        if self.above:
            return f"a number, {start}"
        return f"at least {start}" if self.low > 0 else f"a number, {start} or more"


SHARE = Range(0, 1)
POSITIVE_SHARE = Range(0, 1, above=True)
NOT_NEGATIVE = Range(0)
ONE_OR_MORE = Range(1)
EPOCHS = Range(0, 1e9)
WEIGHT = Range(0, 1e6)
"""How much a part of a loss counts; 0 leaves it out."""
SCALE = Range(0, 1e6)
"""K of ỹ = K·ŷ; 0 lets the number of classes choose it."""
