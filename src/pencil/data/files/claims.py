"""Tells a file that packs a lot from one that only claims to: a bomb is refused before memory is taken for it."""

UNASKED = 2**30
"""Bytes that may be claimed by any file."""
PACKED = 100
"""Times its own size that a file may unpack to beyond that; data that somebody measured packs far less."""


def refuse_bomb(claimed: int, size: int) -> None:
    """Raise where what a file says it unpacks to is out of all proportion to its bytes."""
    if claimed > max(UNASKED, PACKED * size):
        raise ValueError(f"it would unpack to {claimed / 2**30:.1f} GiB out of {size:,} bytes")
