"""Noise that looks at the inputs: what a labeller is, and that its labels are labels."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pencil.data.dataset import UNLABELLED, Examples
from pencil.errors import PencilError


@runtime_checkable
class Labeller(Protocol):
    """Gives labels by what the inputs are, for noise that no matrix describes."""

    def label(self, sets: Sequence[Examples], rng: np.random.Generator) -> tuple[list[NDArray[np.int64]], str]:
        """Draw given labels for the true ones of each set, none where there is none; and say how, in a few words."""
        ...


def labels_by(
    labeller: Labeller, sets: Sequence[Examples], num_classes: int, rng: np.random.Generator, what: str
) -> tuple[list[NDArray[np.int64]], str]:
    """Have a labeller label each set, and refuse what are no labels of these classes."""
    answer: Any = labeller.label(sets, rng)
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], str)):
        raise PencilError(f"{what}: label(sets, rng) must return a list of label arrays, one for each set, and a text.")
    drawn, how = answer
    if not isinstance(drawn, (list, tuple)) or len(drawn) != len(sets):
        raise PencilError(
            f"{what}: label(sets, rng) was given {len(sets)} sets; return a label array for each of them."
        )
    return [_checked(labels, each.given, num_classes, what) for labels, each in zip(drawn, sets, strict=True)], how


def _checked(labels: Any, true: NDArray[np.int64], num_classes: int, what: str) -> NDArray[np.int64]:
    found = np.asarray(labels)
    if found.shape != true.shape or found.dtype.kind not in "iu":
        raise PencilError(
            f"{what} gives labels of shape {found.shape} and type {found.dtype} for {len(true)} examples;"
            " return one whole number for each."
        )
    missing = true == UNLABELLED
    wrong = np.flatnonzero(np.where(missing, found != UNLABELLED, (found < 0) | (found >= num_classes)))
    if len(wrong):
        rule = f"{UNLABELLED}, as it has no label" if missing[wrong[0]] else f"0 to {num_classes - 1}"
        raise PencilError(f"{what} gives example {wrong[0] + 1} the class {found[wrong[0]]}; return {rule}.")
    return found.astype(np.int64)
