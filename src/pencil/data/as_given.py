"""Inputs that are taken as they are given: tokens, series, spectra, volumes. Only their type is settled.

Floats become 32 bits wide; whole numbers stay whole, and networks get them as 64-bit integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data.dataset import Preparation
from pencil.data.tensors import as_array, plain
from pencil.errors import PencilError


def as_tensors(x: Any) -> NDArray[Any]:
    """Return numbers [n, …] of any shape, neither scaled nor put in another order."""
    if np.ma.is_masked(x):
        raise PencilError("inputs have masked values; fill them in, or leave out their rows.")
    array = as_array(x)
    if array.ndim < 2 or not array.size:
        raise PencilError(f"inputs have shape {array.shape}; give [n, …], as many numbers for each example.")
    return _numbers(array, 0)


def as_tensor(x: Any, place: int) -> NDArray[Any]:
    """Return one example's numbers of any shape."""
    array = np.asarray(plain(x))
    if array.ndim < 1 or not array.size:
        raise PencilError(f"the input of example {place} has shape {array.shape}; give at least one number in a list.")
    one: NDArray[Any] = _numbers(array[None], place)[0]
    return one


def describe_tensors(inputs: NDArray[Any]) -> Preparation:
    """Return the preparation that leaves inputs [n, …] as they are."""
    shape = tuple(int(side) for side in inputs.shape[1:])
    return Preparation("tensors", shape, whole=inputs.dtype.kind == "i")


def _numbers(array: NDArray[Any], first: int) -> NDArray[Any]:
    if array.dtype.kind not in "biuf":
        raise PencilError(f"inputs are {array.dtype}; give numbers, and texts as the numbers of their words.")
    if array.dtype.kind != "f":
        return np.ascontiguousarray(array, dtype=np.int32 if _fits(array, np.int32) else np.int64)
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(array, dtype=np.float32)
    wrong = np.flatnonzero(~np.isfinite(numbers).reshape(len(numbers), -1).all(axis=1))
    if len(wrong):
        raise PencilError(f"example {first + int(wrong[0])} holds values that are missing or infinite; fill them in.")
    return numbers


def _fits(array: NDArray[Any], kind: type[np.signedinteger[Any]]) -> bool:
    if array.dtype.kind == "b" or np.can_cast(array.dtype, kind):
        return True
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    return bool(least <= int(array.min()) and int(array.max()) <= most)
