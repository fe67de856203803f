"""Noise by weak annotators: mistakes sit on hard examples, as people's do."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from pencil.data.dataset import UNLABELLED, Examples, Inputs, Selection
from pencil.data.noise import rate
from pencil.errors import PencilError

ANNOTATORS = 20
CLOSE = 0.03
"""How far the share of wrong labels may be from the rate that was asked for."""
_MOST_TAUGHT = 2500
"""Examples of all classes together that an annotator is taught: with more it would be no weak one, and slow."""
_SIDE = 32
"""Larger pictures are shrunk to about so many pixels a side."""
_COMPONENTS = 64
"""Inputs of more numbers are reduced to so many."""
_BYTES = 2**25
"""Of inputs, as floats, that are in memory at once."""


def transition(num_classes: int, argument: str) -> Crowd:
    """Each label is by one of 20 weak annotators, taught so few right labels that about a share r is wrong.

    An annotator is a logistic regression on a few examples of each class, of its own draw; none labels an example that
    it was taught. How many they are taught, some of them one more of each class than others, is found so that the share
    comes nearest to r; an r from which it stays more than 0.03 away is refused. Inputs must be arrays, in memory or
    mapped.
    """
    return Crowd(rate(argument, "crowd"))


@dataclass(frozen=True)
class Crowd:
    """Annotators to be, and the share of labels that they are to get wrong."""

    rate: float

    def label(self, sets: Sequence[Examples], rng: np.random.Generator) -> tuple[list[NDArray[np.int64]], str]:
        for examples in sets:
            stored = examples.inputs.base if isinstance(examples.inputs, Selection) else examples.inputs
            if stored.array is None:
                raise PencilError(
                    f'noise "crowd:{self.rate:g}" looks at all inputs, which these give only one by one;'
                    " give them as arrays, a table or images, or take another noise."
                )
        true = np.concatenate([examples.given for examples in sets])
        # One thread: several would wait for each other over such small matrices, and round in another order.
        with threadpool_limits(1):
            lessons = _Lessons.draw(_features([examples.inputs for examples in sets]), true, rng)
            total, labels = self._nearest(lessons)
        told = f"{ANNOTATORS} annotators, each taught {_counted(total)} of a class"
        return np.split(labels, np.cumsum([len(examples) for examples in sets])[:-1]), told

    def _nearest(self, lessons: _Lessons) -> tuple[int, NDArray[np.int64]]:
        """Find how much teaching brings the share of wrong labels nearest to the rate, and the labels of that."""
        labels: dict[int, NDArray[np.int64]] = {}
        shares: dict[int, float] = {}

        def share(total: int) -> float:
            if total not in shares:
                labels[total] = lessons.label(total)
                shares[total] = lessons.share_wrong(labels[total])
            return shares[total]

        # The more they are taught the fewer mistakes they make, but for chance: double, then halve the gap.
        doubled = [ANNOTATORS]
        while doubled[-1] < lessons.most:
            doubled.append(min(2 * doubled[-1], lessons.most))
        for total in doubled:
            share(total)
        for few, many in pairwise(doubled):
            while many - few > 1 and share(few) > self.rate >= share(many):
                middle = (few + many) // 2
                few, many = (middle, many) if share(middle) > self.rate else (few, middle)
        best = min(shares, key=lambda total: (abs(shares[total] - self.rate), total))
        if abs(shares[best] - self.rate) > CLOSE:
            raise PencilError(
                f'noise "crowd:{self.rate:g}": weak annotators get {min(shares.values()):.3f} to'
                f" {max(shares.values()):.3f} of these labels wrong, {shares[best]:.3f} being nearest to that;"
                " give such a rate, or take another noise."
            )
        return best, labels[best]


def _counted(total: int) -> str:
    """Say how many examples of a class each annotator is taught."""
    count, more = divmod(total, ANNOTATORS)
    return f"{count} or {count + 1} examples" if more else f"{count} example{'s' if count > 1 else ''}"


@dataclass(frozen=True, eq=False)
class _Lessons:
    """What each annotator learns from, in which order, and who labels what."""

    features: NDArray[np.float64]
    true: NDArray[np.int64]
    orders: list[list[NDArray[np.int64]]]
    """Of each annotator, for each class: positions of the examples that it is taught first, second, …"""
    chance: NDArray[np.float64]
    """For each example a number from 0 to 1 that chooses among those who were not taught it."""

    @classmethod
    def draw(cls, features: NDArray[np.float64], true: NDArray[np.int64], rng: np.random.Generator) -> _Lessons:
        classes = [np.flatnonzero(true == label) for label in np.unique(true[true != UNLABELLED])]
        most = max(_MOST_TAUGHT // max(len(classes), 1), 1)
        # At most half of a class, so that there is someone left to label each example.
        lengths = [min(most, max(len(members) // 2, 1)) for members in classes]
        orders = [
            [rng.permutation(members)[:length] for members, length in zip(classes, lengths, strict=True)]
            for _ in range(ANNOTATORS)
        ]
        return cls(features, true, orders, rng.random(len(true)))

    @property
    def most(self) -> int:
        """The largest total there is anything left to teach for."""
        return ANNOTATORS * max(len(order) for order in self.orders[0])

    def label(self, total: int) -> NDArray[np.int64]:
        """Have every example labelled by annotators who were together taught so many of each class.

        Of a class that has fewer to teach they are taught all of those.
        """
        counts = [(total + number) // ANNOTATORS for number in range(ANNOTATORS)]
        taught = [
            np.concatenate([order[:count] for order in orders])
            for count, orders in zip(counts, self.orders, strict=True)
        ]
        chosen, labels = self._choose(taught), self.true.copy()
        for number, lesson in enumerate(taught):
            places = np.flatnonzero(chosen == number)
            if len(places):
                labels[places] = _learn(self.features[lesson], self.true[lesson]).predict(self.features[places])
        return labels

    def share_wrong(self, labels: NDArray[np.int64]) -> float:
        return float((labels != self.true).sum() / max((self.true != UNLABELLED).sum(), 1))

    def _choose(self, taught: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Choose an annotator for each example among those who were not taught it.

        An example that all were taught, as the only one of its class is, keeps its label: −1, as where there is none.
        """
        free = np.tile(self.true != UNLABELLED, (len(taught), 1))
        for number, lesson in enumerate(taught):
            free[number, lesson] = False
        rank = free.cumsum(axis=0, dtype=np.int8)
        wanted = (self.chance * rank[-1]).astype(np.int8)
        return np.where(rank[-1] > 0, (rank > wanted).argmax(axis=0), -1)


def _learn(features: NDArray[np.float64], labels: NDArray[np.int64]) -> LogisticRegression:
    with warnings.catch_warnings():
        # Few examples of many classes, or steps that end early, make a weak annotator, as it should be.
        warnings.simplefilter("ignore")
        return LogisticRegression().fit(features, labels)


def _features(sets: Sequence[Inputs]) -> NDArray[np.float64]:
    """Return what annotators see of each example: its numbers standardised, or their principal components if many."""
    first = sets[0]
    width = next(_rows(first, np.zeros(1, dtype=np.int64))).shape[1]
    most = max(_BYTES // (8 * width), _COMPONENTS)
    # Evenly spaced examples are enough to measure by. Floats have 64 bits, lest rounding decide a label.
    spaced = np.arange(len(first)) if len(first) <= most else np.linspace(0, len(first) - 1, most).astype(np.int64)
    seen = np.concatenate(list(_rows(first, spaced)))
    gaps = np.isnan(seen)
    mean = np.where(gaps, 0, seen).sum(axis=0) / np.maximum((~gaps).sum(axis=0), 1)
    std = np.where(gaps, mean, seen).std(axis=0)
    std = np.where(std > 1e-7 * np.maximum(1, np.abs(mean)), std, 1.0)

    def standard(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        # What is missing is seen as the mean, as networks see it.
        return np.where(np.isnan(rows), 0, (rows - mean) / std)

    seen = standard(seen)
    chunks = (standard(rows) for inputs in sets for rows in _rows(inputs, np.arange(len(inputs))))
    if width <= _COMPONENTS:
        return np.concatenate(list(chunks))
    reduced = PCA(min(_COMPONENTS, len(seen)), svd_solver="randomized", random_state=0).fit(seen)
    # One scale for all components keeps their proportions: most of them are details that few examples do not teach.
    scale = float(reduced.transform(seen).std()) or 1.0
    return np.concatenate([reduced.transform(rows) / scale for rows in chunks])


def _rows(inputs: Inputs, index: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
    """Read the inputs at these positions as rows of numbers, a few at a time."""
    step = max(_BYTES // (8 * max(inputs.read(index[:1]).size, 1)), 1)
    for start in range(0, len(index), step):
        found = inputs.read(index[start : start + step]).astype(np.float64)
        yield (_shrunk(found) if found.ndim == 4 else found).reshape(len(found), -1)


def _shrunk(images: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average blocks of pixels of large pictures, [B, H, W, C]."""
    count, height, width, channels = images.shape
    high, wide = -(-height // _SIDE), -(-width // _SIDE)
    rows, columns = height // high, width // wide
    blocks = images[:, : rows * high, : columns * wide].reshape(count, rows, high, columns, wide, channels)
    means: NDArray[np.float64] = blocks.mean(axis=(2, 4))
    return means
