"""Named arrays in safetensors files: weights, label distributions, checkpoints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from pencil.results.atomic import write_atomic
from pencil.results.documents import damaged, missing

Arrays = dict[str, NDArray[Any]]


NOTE = "pencil"


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], note: str = "") -> None:
    """Write named arrays of numbers, each with its own type and shape, and a text to go with them."""
    # The format's writer copies memory as it lies, so a transposed view would come back scrambled.
    dense = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_atomic(path, lambda temporary: save_file(dense, temporary, metadata={NOTE: note} if note else None))


def read_arrays(path: Path) -> Arrays:
    """Read all arrays of a file."""
    try:
        arrays: Arrays = load_file(path)
    except FileNotFoundError:
        raise missing(path) from None
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise damaged(path, error) from error
    return arrays


def read_note(path: Path) -> str:
    """Read the text that goes with the arrays of a file."""
    try:
        with safe_open(path, framework="np") as file:
            return str((file.metadata() or {})[NOTE])
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise damaged(path, error) from error


def save_weights(path: Path, weights: Mapping[str, NDArray[Any]]) -> None:
    """Write a network's weights by name (model.safetensors)."""
    write_arrays(path, weights)


def load_weights(path: Path) -> Arrays:
    """Read a network's weights."""
    return read_arrays(path)
