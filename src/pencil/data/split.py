"""Keeps a share of the training examples apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pencil.data.dataset import UNLABELLED

_STREAM = 0x5711
"""Separates these draws from the noise, which may have the same seed."""


def choose_held_out(
    given: NDArray[np.int64], share: float, copies: NDArray[np.int64] | None = None, *, seed: int
) -> NDArray[np.int64]:
    """Choose positions at random, in proportion to the classes; sorted.

    Examples without a label stay in training, where alone they are of use; so does one example of each class. An
    example goes with its `copies`, by the position of the first: who learned one knows the label of all. More copies
    than are to be held out in all stay in training.
    """
    labelled = np.flatnonzero(given != UNLABELLED)
    if copies is not None:
        few = np.bincount(copies)[copies] <= max(round(share * len(labelled)), 1)
        labelled = labelled[(copies[labelled] == labelled) & few[labelled]]
    count = round(share * len(labelled))
    rng = np.random.default_rng([seed, _STREAM])
    shuffled = rng.permutation(labelled)
    by_class = shuffled[np.argsort(given[shuffled], kind="stable")]
    classes = given[by_class]
    pool = by_class[np.append(False, classes[1:] == classes[:-1])] if len(by_class) else by_class
    count = min(count, len(pool))
    if not count:
        return np.empty(0, dtype=np.int64)
    # Every (n/count)-th of the class by class order: each class gives its share, and the count is exact.
    places = ((np.arange(count) + rng.random()) * len(pool) / count).astype(np.int64)
    chosen = np.sort(pool[np.minimum(places, len(pool) - 1)])
    return chosen if copies is None else np.flatnonzero(np.isin(copies, chosen))
