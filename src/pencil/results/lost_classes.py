"""Classes that lost all their examples while labels moved: what a run's log and its report say of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.lines import first_of

NAMED = 3
"""Classes whose names a line has."""
STEPS = ("label_step", "label_lr")
"""Options that say how far labels move at a time, in either spelling."""


def lost_classes(record: Mapping[str, Any]) -> frozenset[int]:
    """Return the classes that no label was of any more after an epoch; none where the labels went back."""
    found = record.get("lost_classes")
    whole = isinstance(found, list) and all(type(number) is int for number in found)
    return frozenset(found) if found and whole and "went_back" not in record else frozenset()


def lost_in_the_end(given: NDArray[Any], corrected: NDArray[Any], split: NDArray[Any]) -> frozenset[int]:
    """Return the classes that training examples were given, and that no example is believed to be of in the end."""
    return frozenset(np.setdiff1d(given[(given >= 0) & (split == "train")], corrected).tolist())


def line_of(names: Sequence[str], options: Mapping[str, Any]) -> str:
    """Say of classes that they have none left, and what can be done with the options that a run was given."""
    named = first_of([f'"{name}"' for name in names], NAMED)
    said = (
        f"class {named} has lost all its examples: every one of them is now believed to be of another class."
        if len(names) == 1
        else f"the classes {named} have lost all their examples: these are now believed to be of other classes."
    )
    step = next((name for name in STEPS if options.get(name)), "")
    if not step:
        return f"{said} Look whether that can be before you use the labels."
    own = f"--set {step}=NUMBER (this run: {options[step]})"
    return f"{said} If that cannot be, labels move less by a smaller step: {own}."
