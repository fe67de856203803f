"""Symmetric noise as in the paper."""

import numpy as np
from numpy.typing import NDArray

from pencil.data.noise import rate


def transition(num_classes: int, argument: str) -> NDArray[np.float64]:
    """With probability r the label is drawn uniformly from all classes, the true one included.

    So a share r·(c − 1)/c of the labels really changes: 45% at "symmetric:0.5" with ten classes.
    """
    r = rate(argument, "symmetric")
    return np.full((num_classes, num_classes), r / num_classes) + (1 - r) * np.eye(num_classes)
