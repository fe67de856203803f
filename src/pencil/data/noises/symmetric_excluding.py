"""Symmetric noise in the convention of much later work."""

import numpy as np
from numpy.typing import NDArray

from pencil.data.noise import rate


def transition(num_classes: int, argument: str) -> NDArray[np.float64]:
    """With probability r the label is drawn uniformly from the other classes, the true one excluded.

    So a share r of the labels really changes.
    """
    r = rate(argument, "symmetric_excluding")
    others = np.ones((num_classes, num_classes)) - np.eye(num_classes)
    return others * r / (num_classes - 1) + (1 - r) * np.eye(num_classes)
