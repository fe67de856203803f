"""Mean and standard deviation of the training inputs, per channel or feature, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data.dataset import Inputs
from pencil.data.spaced import is_stored, spaced
from pencil.errors import PencilError

_READ_BYTES = 2**33
"""Of larger data evenly spaced examples are measured."""
_READ_ONE_BY_ONE = 4096
"""Where each example is a call of the user's code, at most so many are measured."""


def measure(inputs: Inputs, kind: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation; where inputs never vary the latter is 1."""
    mean, std = _of_pixels(_chunks(inputs)) if kind == "images" else _of_rows(_chunks(inputs))
    std = np.where(std > 1e-7 * np.maximum(1, np.abs(mean)), std, 1.0)
    return tuple(mean.tolist()), tuple(std.tolist())


def _chunks(inputs: Inputs) -> Iterator[NDArray[Any]]:
    return spaced(inputs, most_bytes=_READ_BYTES, most=None if is_stored(inputs) else _READ_ONE_BY_ONE)


def _of_pixels(chunks: Iterator[NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # Counting how often each of the 256 values occurs is exact, so chunks of any size give the same bits.
    counts = None
    for chunk in chunks:
        channels = chunk.shape[-1]
        flat = chunk.reshape(-1, channels)
        found = np.stack([np.bincount(flat[:, channel], minlength=256) for channel in range(channels)])
        counts = found if counts is None else counts + found
    assert counts is not None
    values = np.arange(256)
    mean = counts @ values / counts.sum(axis=1)
    variance = counts @ values**2 / counts.sum(axis=1) - mean**2
    return mean, np.sqrt(np.maximum(variance, 0))


def _of_rows(chunks: Iterator[NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    count, mean, spread = 0, np.zeros(1), np.zeros(1)
    for chunk in chunks:
        rows = chunk.astype(np.float64)
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise PencilError(f"column {column + 1} has the value {rows[row, column]}; fill in or leave out such rows.")
        # Merging centred sums keeps precision where a feature's mean is far from zero.
        total, step = count + len(rows), rows.mean(axis=0) - mean
        spread = spread + rows.var(axis=0) * len(rows) + step**2 * count * len(rows) / total
        mean, count = mean + step * len(rows) / total, total
    return mean, np.sqrt(spread / count)
