"""The noise as a whole: its rate, which class is taken for which, and how sure that is.

The intervals cover the chance of which examples were drawn, taking the corrected labels for the truth;
where a run corrects a label wrongly they do not know it.

Shapes: C classes, S resamples.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError
from pencil.quality.score import Floats, Ints, checked_labels

_TAIL = 2.5
"""Percent left out at each end: 95% intervals."""


class Confusion(NamedTuple):
    """Examples that are believed to be of one class and carry the label of another."""

    corrected: int
    given: int
    num_examples: int
    share: float
    """Percent of the examples believed to be of the class `corrected`."""


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """What the corrected labels say about the given ones."""

    rate: float
    """Percent of the labelled examples whose corrected label is not the given one; NaN where there are none."""
    rate_interval: tuple[float, float]
    counts: Ints
    """[C, C] examples by corrected (row) and given (column) label."""
    transition: Floats
    """[C, C] T_ij = P(given = j | corrected = i); a row without examples is NaN."""
    lower: Floats
    """[C, C] lower ends of the entries' 95% intervals."""
    upper: Floats

    def most_confused(self, limit: int = 10) -> list[Confusion]:
        """Return the most frequent confusions; equal ones in the order of their classes."""
        wrong = self.counts - np.diag(np.diag(self.counts))
        order = np.argsort(-wrong, axis=None, kind="stable")[:limit]
        pairs = (divmod(int(cell), len(wrong)) for cell in order)
        return [Confusion(i, j, int(wrong[i, j]), float(100 * self.transition[i, j])) for i, j in pairs if wrong[i, j]]


def estimate_noise(
    given: NDArray[Any], corrected: NDArray[Any], num_classes: int, *, resamples: int = 200, seed: int = 0
) -> NoiseEstimate:
    """Estimate rate and transition matrix from the labelled examples, with bootstrap intervals."""
    if resamples < 1:
        raise PencilError(f"resamples is {resamples}; give at least 1.")
    counts = count_pairs(given, corrected, num_classes)
    lower, upper, rate_interval = _intervals(counts, resamples, np.random.default_rng(seed))
    return NoiseEstimate(_rate(counts), rate_interval, counts, _rows_normalised(counts), lower, upper)


def questioned(
    given: NDArray[Any], corrected: NDArray[Any], split: NDArray[Any], *, moves: bool = True
) -> NDArray[np.bool_]:
    """Say which labels could be found wrong: all, or those held out where training moved none of its own.

    None, where nothing was held out and the method moves no labels.
    """
    trained: NDArray[np.bool_] = np.asarray(split) == "train"
    if (moves and trained.all()) or (np.asarray(given) != np.asarray(corrected))[
        trained & (np.asarray(given) >= 0)
    ].any():
        return np.ones(len(trained), dtype=np.bool_)
    return ~trained


def count_pairs(given: NDArray[Any], corrected: NDArray[Any], num_classes: int) -> Ints:
    """Return [C, C] the number of labelled examples by corrected (row) and given (column) label."""
    given = checked_labels("given", given, num_examples=len(given), num_classes=num_classes)
    corrected = checked_labels("corrected", corrected, num_examples=len(given), num_classes=num_classes)
    known = (given >= 0) & (corrected >= 0)
    cells = corrected[known] * num_classes + given[known]
    return np.bincount(cells, minlength=num_classes**2).reshape(num_classes, num_classes)


def _rate(counts: Ints) -> float:
    total = int(counts.sum())
    return 100 * (1 - int(np.trace(counts)) / total) if total else float("nan")


def _rows_normalised(counts: Ints) -> Floats:
    totals = counts.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(counts, totals, where=totals > 0, out=np.full(counts.shape, np.nan))
    return shares


def _intervals(counts: Ints, resamples: int, rng: np.random.Generator) -> tuple[Floats, Floats, tuple[float, float]]:
    """Resample the count matrix as one multinomial, which is what resampling the examples does to it."""
    lower = np.full(counts.shape, np.nan)
    upper = np.full(counts.shape, np.nan)
    total = int(counts.sum())
    if total == 0:
        return lower, upper, (float("nan"), float("nan"))
    # Row totals first, then each row within its total: the same distribution, in memory S·C instead of S·C².
    totals_SC = rng.multinomial(total, counts.sum(axis=1) / total, size=resamples)
    kept_S = np.zeros(resamples)
    for row in np.flatnonzero(counts.sum(axis=1)):
        filled = np.flatnonzero(counts[row])
        drawn = rng.multinomial(totals_SC[:, row], counts[row, filled] / counts[row].sum())
        kept_S += drawn[:, filled == row].sum(axis=1)
        lower[row], upper[row] = 0.0, 0.0
        lower[row, filled], upper[row, filled] = _percentiles(drawn, totals_SC[:, row])
    low, high = np.percentile(100 * (1 - kept_S / total), [_TAIL, 100 - _TAIL])
    return lower, upper, (float(low), float(high))


def _percentiles(drawn: Ints, totals_S: Ints) -> Floats:
    # A class with few examples can be absent from a resample, which then says nothing about its row.
    present = totals_S > 0
    if not present.any():
        return np.full((2, drawn.shape[1]), np.nan)
    ends: Floats = np.percentile(drawn[present] / totals_S[present, None], [_TAIL, 100 - _TAIL], axis=0)
    return ends
