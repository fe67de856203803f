"""Mean and standard deviation of the training inputs, or of their logarithms, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pencil.data.dataset import Inputs
from pencil.data.spaced import in_chunks, is_stored, places
from pencil.errors import PencilError

_READ_BYTES = 2**33
"""Of larger data evenly spaced examples are measured."""
_READ_ONE_BY_ONE = 4096
"""Where each example is a call of the user's code, at most so many are measured."""
_SOME = 4096
"""Rows that tell about how many values lie how far."""
_SOME_VALUES = 2**24
"""So many numbers of them are held at most, but always `_FEW` rows."""
_FEW = 256
SKEWED = 5.0
"""Where the highest twentieth begins so many times as far from the middle as the lowest one ends, a logarithm helps."""
FAR = 5.0
"""So many times as far from the middle as the farther twentieth begins, a value is no nearer than any beyond it."""


class Statistics(NamedTuple):
    """What inputs are normalised by, per channel or feature."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    least: tuple[float, ...] = ()
    reach: tuple[float, ...] = ()
    """Both as in `Preparation`."""


def measure(inputs: Inputs, kind: str, levels: Sequence[Sequence[int]] = ()) -> Statistics:
    """Return mean and standard deviation; where inputs never vary the latter is 1.

    Features that are the `levels` of one column share the deviation of the whole, so that they weigh as one feature.
    """
    measured = places(inputs, most_bytes=_READ_BYTES, most=None if is_stored(inputs) else _READ_ONE_BY_ONE)
    chunks = in_chunks(inputs, measured)
    if kind == "images":
        mean, std = _of_pixels(chunks)
        return Statistics(tuple(mean.tolist()), tuple(_nowhere_zero(mean, std).tolist()))
    return _of_rows(chunks, len(measured), levels)


def _nowhere_zero(mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(std > 1e-7 * np.maximum(1, np.abs(mean)), std, 1.0)


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


def _of_rows(chunks: Iterator[NDArray[Any]], count: int, levels: Sequence[Sequence[int]]) -> Statistics:
    plain, logarithms, read = _Moments(), _Moments(), 0
    least, most, some = np.full(1, np.inf), np.full(1, -np.inf), list[NDArray[Any]]()
    for chunk in chunks:
        rows = chunk.astype(np.float64)
        if np.isinf(rows).any():
            row, column = np.argwhere(np.isinf(rows))[0]
            raise PencilError(f"column {column + 1} has the value {rows[row, column]}; fill in or leave out such rows.")
        least, most = np.fmin(least, np.fmin.reduce(rows, axis=0)), np.fmax(most, np.fmax.reduce(rows, axis=0))
        plain.add(rows)
        logarithms.add(np.log(np.where(rows <= 0, 1, rows)))
        step = max(1, count // max(_FEW, min(_SOME, _SOME_VALUES // max(1, chunk.shape[1]))))
        some.append(chunk[-read % step :: step].copy())  # A part of it would hold all of it.
        read += len(chunk)
    if not plain.count.any():
        raise PencilError("no example has a value, all of them are missing; give data with some.")
    sample = np.concatenate(some).astype(np.float64)
    # Of a feature without any value nothing is asked but that it is none of those below.
    sample = np.where(np.isnan(sample).all(axis=0), plain.mean, sample)
    quantiles: NDArray[np.float64] = np.nanquantile(sample, (0.05, 0.5, 0.95), axis=0)
    skewed = (least > 0) & _skewed(quantiles)
    mean, std = np.where(skewed, logarithms.mean, plain.mean), np.where(skewed, logarithms.std, plain.std)
    ends = np.stack([least, most])
    for values in (sample, quantiles, ends):
        np.log(values, out=values, where=skewed)  # They are positive there, or missing.
    nearest, farthest = _near(quantiles)
    wild = (ends[0] < nearest) | (ends[1] > farthest)
    near = np.clip(sample[:, wild], nearest[wild], farthest[wild])
    mean[wild], std[wild] = np.nanmean(near, axis=0), np.nanstd(near, axis=0)
    for level in levels:
        std[level] = np.sqrt(np.square(std[level]).sum())
    std = _nowhere_zero(mean, std)
    reach = np.fmax(farthest - mean, mean - nearest) / std
    return Statistics(tuple(mean.tolist()), tuple(std.tolist()), _of(skewed, least), _of(wild, reach))


def _of(which: NDArray[np.bool_], values: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the values of some features, 0 of others; nothing where there are none."""
    return tuple(np.where(which, values, 0.0).tolist()) if which.any() else ()


def _skewed(quantiles: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say of which features large values lie so much farther from the middle than small ones do that they hide these.

    Prices, counts of rare things, concentrations: in units of a standard deviation most of their values are one.
    """
    low, middle, high = quantiles
    skewed: NDArray[np.bool_] = (high - middle > SKEWED * (middle - low)) & (middle > low)
    return skewed


def _near(quantiles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return between which ends those values of a feature lie that are not far from all others.

    A slip of the pen, or heavy tails: a few such values decide the deviation, and hide all others. Where the middle is
    also the lowest twentieth or the highest, as of counts and marks, nothing tells what is far.
    """
    low, middle, high = quantiles
    width = np.where((low < middle) & (middle < high), FAR * np.maximum(middle - low, high - middle), np.inf)
    return middle - width, middle + width


class _Moments:
    """Mean and deviation of rows that come in chunks; what is missing does not count."""

    def __init__(self) -> None:
        self.count, self.mean, self.spread = np.zeros(1), np.zeros(1), np.zeros(1)

    def add(self, rows: NDArray[np.float64]) -> None:
        known = ~np.isnan(rows)
        count = known.sum(axis=0)
        mean = np.where(known, rows, 0).sum(axis=0) / np.maximum(count, 1)
        spread = np.square(np.where(known, rows - mean, 0)).sum(axis=0)
        # Merging centred sums keeps precision where a feature's mean is far from zero.
        total = np.maximum(self.count + count, 1)
        step = np.where(count, mean - self.mean, 0)
        self.spread = self.spread + spread + step**2 * self.count * count / total
        self.mean, self.count = self.mean + step * count / total, self.count + count

    @property
    def std(self) -> NDArray[np.float64]:
        std: NDArray[np.float64] = np.sqrt(self.spread / np.maximum(self.count, 1))
        return std
