"""What a person sees of an example: an image as PNG, or a table's row as names and values."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pencil.data.dataset import Dataset
from pencil.data.located import Located
from pencil.data.tables.words import MARK
from pencil.errors import PencilError

MOST_NUMBERED = 100_000
"""Of a tensor's numbers, as many are written out."""
Sight = bytes | list[tuple[str, str]]
"""A PNG, or the names and values of a row."""


def show(dataset: Dataset, ids: Sequence[str], *, longest: int) -> list[Sight]:
    """Return what there is to see of each of these examples; images with a longest side of so many pixels."""
    inputs, features = Located(dataset, list(ids)), dataset.facts.get("features", ())
    if dataset.preparation.kind == "images":
        return [encode(inputs.read(row), longest, compression=9) for row in range(len(inputs))]
    return [values(inputs, row, features) for row in range(len(inputs))]


def encode(raw: NDArray[Any], longest: int = 0, compression: int = 1) -> bytes:
    """Write uint8 [H, W, 1, 3 or 4] as PNG, made smaller where a side is longer than asked."""
    if raw.ndim != 3 or raw.dtype != np.uint8:
        raise PencilError("the example is no image.")
    image = Image.fromarray(np.ascontiguousarray(raw[..., 0] if raw.shape[2] == 1 else raw))
    if longest and max(image.size) > longest:
        image.thumbnail((longest, longest), Image.Resampling.BILINEAR)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=compression)
    return buffer.getvalue()


def values(inputs: Located, row: int, features: Sequence[str]) -> list[tuple[str, str]]:
    """Return names and values of one row of a table: texts as they are, then its features but for words in these."""
    texts = inputs.texts(row)
    read = {name for name, _ in texts}
    pairs = named_values(inputs.read(row), features)
    return texts + [(name, value) for name, value in pairs if name.rpartition(MARK)[0] not in read]


def named_values(raw: NDArray[Any], features: Sequence[str]) -> list[tuple[str, str]]:
    """Name a row's numbers; the columns that one text was spread over ("colour=red") become that text again.

    Tensors have many: the first of them, by their place along each side.
    """
    if len(features) != len(raw) or raw.ndim > 1:
        places = islice(np.ndindex(raw.shape), MOST_NUMBERED)
        return [(", ".join(str(side + 1) for side in place), _text(raw[place])) for place in places]
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


def _text(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return "missing" if np.isnan(value) else f"{value:.6g}"
    return str(value)
