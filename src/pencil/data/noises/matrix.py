"""Noise by a transition matrix of the user's own."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError
from pencil.transition import read_transition


def transition(num_classes: int, argument: str) -> NDArray[np.float64]:
    """A label of class i is drawn from row i of the matrix in the named file, true class in rows, given in columns.

    "matrix:FILE.npy" or "matrix:FILE.csv" (numbers with commas, no header); each row must sum to 1.
    """
    path = Path(argument)
    if not argument or not path.is_file():
        raise PencilError(f'noise "matrix:{argument}": there is no such file; give matrix:FILE.npy or matrix:FILE.csv.')
    return read_transition(path)
