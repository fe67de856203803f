"""Classes that lost all their examples while labels moved: what a run's log and its report say of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def lost_classes(record: Mapping[str, Any]) -> frozenset[int]:
    """Return the classes that no label was of any more after an epoch; none where the labels went back."""
    found = record.get("lost_classes")
    whole = isinstance(found, list) and all(type(number) is int for number in found)
    return frozenset(found) if found and whole and "went_back" not in record else frozenset()


def lost_in_the_end(given: NDArray[Any], corrected: NDArray[Any], split: NDArray[Any]) -> frozenset[int]:
    """Return the classes that training examples were given, and that no example is believed to be of in the end."""
    return frozenset(np.setdiff1d(given[(given >= 0) & (split == "train")], corrected).tolist())


def line_of(name: str) -> str:
    """Say of a class that it has none left, and what can be done."""
    return (
        f'class "{name}" has lost all its examples: every one of them is now believed to be of another class. If that'
        " cannot be, a stronger anchor holds labels nearer to the given ones."
    )
