"""Asymmetric noise to the next class, the paper's for CIFAR-100."""

import numpy as np
from numpy.typing import NDArray

from pencil.data.noise import rate


def transition(num_classes: int, argument: str) -> NDArray[np.float64]:
    """With probability r a label of class k becomes k + 1, the last class becoming the first.

    So a share r of the labels really changes.
    """
    r = rate(argument, "asymmetric_next")
    identity = np.eye(num_classes)
    return (1 - r) * identity + r * np.roll(identity, 1, axis=1)
