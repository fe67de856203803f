"""Differences that chance would make, and others."""

import pytest

from pencil.chance import is_higher


@pytest.mark.parametrize(
    ("hits", "count", "others", "size", "higher"),
    [
        # At 50% of 10,000 and 10,000 one standard error is 0.71 points.
        (5_120, 10_000, 5_000, 10_000, False),
        (5_180, 10_000, 5_000, 10_000, True),
        (5_000, 10_000, 5_180, 10_000, False),
        # All of two are no certainty.
        (2, 2, 0, 2, False),
        (0, 0, 0, 100, False),
        (100, 100, 0, 0, False),
    ],
)
def test_a_share_is_higher_beyond_chance(hits: int, count: int, others: int, size: int, higher: bool) -> None:
    assert is_higher(hits, count, others, size, errors=2.0) is higher
