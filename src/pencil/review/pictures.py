"""What a person looks at: an image as PNG, made when it is asked for, or a table's row as names and values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from pencil.data.located import Located
from pencil.data.shown import encode, values

THUMBNAIL = 192
"""Longest side of a thumbnail, in pixels."""
MOST_BYTES = 64 * 2**20
"""Encoded pictures kept in memory."""
MOST_VALUES = 1000
"""Values of one row that are shown."""


class Pictures:
    """Encodes inputs by row, and keeps the latest in memory."""

    def __init__(self, inputs: Located, features: Sequence[str] = ()) -> None:
        self._inputs = inputs
        self._features = features
        # A user's own dataset need not be safe to read from several threads.
        self._guard = threading.Lock()
        self._kept: OrderedDict[tuple[int, bool], bytes] = OrderedDict()
        self._size = 0

    def png(self, row: int, *, thumbnail: bool) -> bytes:
        """Return an image as PNG; a thumbnail is never larger than its limit."""
        with self._guard:
            if (row, thumbnail) in self._kept:
                self._kept.move_to_end((row, thumbnail))
                return self._kept[row, thumbnail]
            raw = self._inputs.read(row)
        encoded = encode(raw, THUMBNAIL if thumbnail else 0)
        with self._guard:
            self._keep((row, thumbnail), encoded)
        return encoded

    def values(self, row: int, most: int = MOST_VALUES) -> list[tuple[str, str]]:
        """Return a row's columns and their values, as texts."""
        with self._guard:
            return values(self._inputs, row, self._features)[:most]

    def _keep(self, key: tuple[int, bool], encoded: bytes) -> None:
        self._size += len(encoded) - len(self._kept.pop(key, b""))
        self._kept[key] = encoded
        while self._size > MOST_BYTES:
            self._size -= len(self._kept.popitem(last=False)[1])
