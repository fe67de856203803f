"""Noise by a transition matrix of the user's own."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError


def transition(num_classes: int, argument: str) -> NDArray[np.float64]:
    """A label of class i is drawn from row i of the matrix in the named file, true class in rows, given in columns.

    "matrix:FILE.npy" or "matrix:FILE.csv" (numbers with commas, no header); each row must sum to 1.
    """
    path = Path(argument)
    if not argument or not path.is_file():
        raise PencilError(f'noise "matrix:{argument}": there is no such file; give matrix:FILE.npy or matrix:FILE.csv.')
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
        return np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, TypeError, OSError, EOFError) as error:
        reason = str(error).splitlines()[0]
        raise PencilError(f"{path} is not a matrix of numbers ({reason}); write it by numpy.save or as CSV.") from error
