"""Asymmetric noise between look-alike classes of CIFAR-10, as in the paper."""

import numpy as np
from numpy.typing import NDArray

from pencil.data.noise import rate
from pencil.errors import PencilError

_AIRPLANE, _AUTOMOBILE, _BIRD, _CAT, _DEER, _DOG, _HORSE, _TRUCK = 0, 1, 2, 3, 4, 5, 7, 9
_MOVES = {_TRUCK: _AUTOMOBILE, _BIRD: _AIRPLANE, _DEER: _HORSE, _CAT: _DOG, _DOG: _CAT}


def transition(num_classes: int, argument: str) -> NDArray[np.float64]:
    """With probability r a label moves: truck→automobile, bird→airplane, deer→horse, cat↔dog; others stay.

    So a share r/2 of all labels of CIFAR-10 changes. The classes are in the official order.
    """
    if num_classes != 10:
        raise PencilError(
            f"asymmetric_cifar10 moves between the ten classes of CIFAR-10, this data has {num_classes};"
            " take asymmetric_next or matrix:FILE."
        )
    r = rate(argument, "asymmetric_cifar10")
    matrix = np.eye(10)
    for true, other in _MOVES.items():
        matrix[true, true], matrix[true, other] = 1 - r, r
    return matrix
