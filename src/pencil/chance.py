"""What a difference between two shares says, and what chance alone would make of it."""

import math

MANY = 1000
"""Held-out labels that tell by themselves what noise and network are like, without help from those learned."""


def is_higher(hits: float, count: float, others: float, size: float, *, errors: float) -> bool:
    """Say whether `hits` of `count` is more than `others` of `size` by over so many standard errors."""
    if not count or not size:
        return False
    # One more example on either side: all or none of a few is no certainty.
    share = (hits + others + 1) / (count + size + 2)
    return hits / count - others / size > errors * math.sqrt(share * (1 - share) * (1 / count + 1 / size))
