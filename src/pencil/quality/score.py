"""How far the evidence supports each given label.

Shapes: N examples, C classes, R rows of one block.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BLOCK = 1 << 22
"""Numbers worked on at a time, so that memory does not grow with N."""


@dataclass(frozen=True, eq=False)
class Scores:
    """One value an example."""

    corrected: Ints
    """The class the learned distribution y^d favours; the given one where it ties with others."""
    confidence: Floats
    """max y^d."""
    entropy: Floats
    """H(y^d), in nats."""
    quality: Floats
    """0 (the evidence is all against the given label) to 1 (all for it); NaN without a label."""


def score(label_distribution: NDArray[Any], mean_prediction: NDArray[Any] | None, given: NDArray[Any]) -> Scores:
    """Score N examples from y^d, the network's averaged prediction (None or rows of zeros: none) and ŷ (−1: none).

    y^d says which class is favoured. Quality is the network's to tell: y^d holds on to the given label until much
    speaks against it, which keeps right labels right, but would hide from a person what is merely doubtful.
    """
    given_N = _checked(label_distribution, mean_prediction, given)
    blocks = []
    for rows in _blocks(label_distribution):
        label_RC = _distribution(label_distribution[rows], "label_distribution")
        evidence_RC = label_RC
        if mean_prediction is not None:
            evidence_RC = _evidence(label_RC, mean_prediction[rows])
        blocks.append(_score_block(label_RC, evidence_RC, given_N[rows]))
    corrected, confidence, entropy, quality = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return Scores(corrected, confidence, entropy, quality)


def favoured(label_RC: NDArray[Any], given_R: Ints) -> Ints:
    """Return the class that each distribution favours; the given one where it ties with others."""
    corrected: Ints = label_RC.argmax(axis=1)
    rows = np.flatnonzero(given_R >= 0)
    tied = rows[label_RC[rows, given_R[rows]] == label_RC[rows].max(axis=1)]
    corrected[tied] = given_R[tied]
    return corrected


def quality_of(evidence_RC: Floats, given_R: Ints) -> Floats:
    """Return (1 + m)/2, m the margin of the given class over the best other one; NaN without a label."""
    labelled = given_R >= 0
    rows = np.flatnonzero(labelled)
    others_RC = evidence_RC[rows]
    own = others_RC[np.arange(len(rows)), given_R[rows]]
    others_RC[np.arange(len(rows)), given_R[rows]] = -np.inf
    quality = np.full(len(given_R), np.nan)
    # Rounding may carry a margin of 1 a hair beyond it.
    quality[rows] = np.clip((1 + own - others_RC.max(axis=1)) / 2, 0, 1)
    return quality


def _evidence(label_RC: Floats, mean_RC: NDArray[Any]) -> Floats:
    """Return the mean prediction, y^d where nothing was predicted."""
    unseen = ~np.any(mean_RC, axis=1)
    return _distribution(np.where(unseen[:, None], label_RC, mean_RC), "mean_prediction")


def most_suspect_first(quality: NDArray[Any], num_changes: NDArray[Any] | None = None) -> Ints:
    """Return positions by rising quality; among equals those whose label changed more often, then the earlier ones."""
    changes = np.zeros(len(quality)) if num_changes is None else np.asarray(num_changes, dtype=np.float64)
    # NaN sorts last: an example without a label has none to suspect.
    return np.lexsort((-changes, np.asarray(quality, dtype=np.float64)))


def _score_block(label_RC: Floats, evidence_RC: Floats, given_R: Ints) -> tuple[Ints, Floats, Floats, Floats]:
    confidence, corrected = label_RC.max(axis=1), favoured(label_RC, given_R)
    logarithm_RC = np.log(label_RC, where=label_RC > 0, out=np.zeros_like(label_RC))
    entropy = np.maximum(-(label_RC * logarithm_RC).sum(axis=1), 0)
    return corrected, confidence, entropy, quality_of(evidence_RC, given_R)


def _blocks(array_NC: NDArray[Any]) -> Iterator[slice]:
    size = max(1, _BLOCK // array_NC.shape[1])
    # One empty block keeps the types right where there are no examples.
    for start in range(0, max(len(array_NC), 1), size):
        yield slice(start, start + size)


def _checked(label_distribution: NDArray[Any], mean_prediction: NDArray[Any] | None, given: NDArray[Any]) -> Ints:
    """Return the given labels as integers once the shapes agree."""
    if label_distribution.ndim != 2 or label_distribution.shape[1] < 2:
        raise PencilError(f"label_distribution has shape {label_distribution.shape}; give one row an example, "
                          f"one column a class, at least two classes.")  # fmt: skip
    if mean_prediction is not None and mean_prediction.shape != label_distribution.shape:
        raise PencilError(
            f"mean_prediction has shape {mean_prediction.shape}, label_distribution {label_distribution.shape}; "
            f"give both for the same examples and classes."
        )
    num_examples, num_classes = label_distribution.shape
    return checked_labels("given", given, num_examples=num_examples, num_classes=num_classes)


def checked_labels(name: str, labels: NDArray[Any], *, num_examples: int, num_classes: int | None = None) -> Ints:
    """Return labels as integers: one an example, −1 where there is none, below the number of classes."""
    array = np.asarray(labels)
    if array.shape != (num_examples,) or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise PencilError(f"{name} has shape {array.shape} and type {array.dtype}; give {num_examples} whole numbers.")
    if array.size and (array.min() < -1 or (num_classes is not None and array.max() >= num_classes)):
        top = "" if num_classes is None else f" to {num_classes - 1}"
        raise PencilError(f"{name} has labels from {array.min()} to {array.max()}; give -1 (none) or 0{top}.")
    return array.astype(np.int64)


def _distribution(rows_RC: NDArray[Any], name: str) -> Floats:
    block_RC = np.asarray(rows_RC, dtype=np.float64)
    # Half-precision predictions sum to 1 only to about three digits.
    if not (np.all(block_RC >= 0) and np.all(np.abs(block_RC.sum(axis=1) - 1) < 1e-2)):
        raise PencilError(f"{name} has a row that is no distribution; rows must be numbers from 0 up that sum to 1.")
    return block_RC
