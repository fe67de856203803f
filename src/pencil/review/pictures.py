"""What a person looks at: an image as PNG, made when it is asked for, or a table's row as names and values."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pencil.errors import PencilError
from pencil.review.dataset import Located

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
            raw = self._inputs.read(row)
        return named_values(raw, self._features)[:most]

    def _keep(self, key: tuple[int, bool], encoded: bytes) -> None:
        self._size += len(encoded) - len(self._kept.pop(key, b""))
        self._kept[key] = encoded
        while self._size > MOST_BYTES:
            self._size -= len(self._kept.popitem(last=False)[1])


def encode(raw: NDArray[Any], longest: int = 0) -> bytes:
    """Write uint8 [H, W, 1, 3 or 4] as PNG, made smaller where a side is longer than asked."""
    if raw.ndim != 3 or raw.dtype != np.uint8:
        raise PencilError("the example is no image.")
    image = Image.fromarray(np.ascontiguousarray(raw[..., 0] if raw.shape[2] == 1 else raw))
    if longest and max(image.size) > longest:
        image.thumbnail((longest, longest), Image.Resampling.BILINEAR)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def named_values(raw: NDArray[Any], features: Sequence[str]) -> list[tuple[str, str]]:
    """Name a row's numbers; the columns that one text was spread over ("colour=red") become that text again."""
    if len(features) != len(raw):
        return [(f"{number}", _text(value)) for number, value in enumerate(raw, start=1)]
    groups: dict[str, list[tuple[str, float]]] = {}
    for title, value in zip(features, raw.tolist(), strict=True):
        groups.setdefault(title.partition("=")[0], []).append((title, value))
    return [pair for name, members in groups.items() for pair in _folded(name, members)]


def _folded(name: str, members: list[tuple[str, float]]) -> list[tuple[str, str]]:
    spread = all("=" in title for title, _ in members) and sorted(value for _, value in members)[-2:] in ([0, 1], [1])
    chosen = [title.partition("=")[2] for title, value in members if value == 1]
    if spread and len(chosen) == 1:
        return [(name, chosen[0])]
    return [(title, _text(value)) for title, value in members]


def _text(value: float) -> str:
    return f"{value:.6g}"
