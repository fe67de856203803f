"""Transition matrices T, T[i, j] = P(given = j | true = i): read from a file, and checked."""

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError


def read_transition(path: Path) -> NDArray[np.float64]:
    """Read a matrix from a .npy file, or from a text of numbers with commas and no header."""
    try:
        with warnings.catch_warnings(action="error"):
            if path.suffix == ".npy":
                return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
            return np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig")
    except (ValueError, TypeError, OSError, EOFError, Warning) as error:
        reason = str(error).splitlines()[0]
        raise PencilError(f"{path} is not a matrix of numbers ({reason}); write it by numpy.save or as CSV.") from error


def check_transition(transition: NDArray[np.float64], num_classes: int, what: str) -> None:
    """Refuse a matrix that is not one distribution for each class."""
    if transition.shape != (num_classes, num_classes):
        wanted = f"{num_classes} × {num_classes}"
        raise PencilError(f"{what} has shape {transition.shape}; {num_classes} classes need {wanted}.")
    bad = ~np.isfinite(transition).all(axis=1) | (transition < 0).any(axis=1)
    bad |= ~np.isclose(transition.sum(axis=1), 1, atol=1e-6)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        least, total = transition[row].min(), transition[row].sum()
        wrong = f"holds {least:.6g}" if least < 0 else f"sums to {total:.6g}"
        raise PencilError(f"{what}: row {row + 1} {wrong}; each must be shares, 0 or more, that sum to 1.")
