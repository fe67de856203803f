"""Arrays in one NumPy file: `x` and `y`, with `x_test`, `y_test`, `clean`, `trusted`, `ids`, `texts`, … if there."""

from typing import Any

import numpy as np

from pencil.data.arrays import from_arrays
from pencil.data.dataset import UNLABELLED, Dataset
from pencil.data.files.numpy_files import read_npz
from pencil.data.request import Request
from pencil.errors import PencilError, did_you_mean

_OTHER_NAMES = {"x": "x_train", "y": "y_train"}
_OPTIONAL = ("clean", "trusted", "ids", "texts", "class_names")


def read(request: Request) -> Dataset:
    """Read a file that numpy.savez wrote; objects in it are refused, as they could run code."""
    request.check_options("npz", ("raw",))
    raw = request.flag("raw")
    path = request.existing("npz")
    if request.location != request.root:
        request.refuse_root(f"{path} is a file of data itself")
    arrays = read_npz(path)
    try:
        if not request.labels_needed:
            arrays = _with_labels(arrays)
        return from_arrays(_wanted(arrays, "x"), _wanted(arrays, "y"), raw=raw, name=path.stem, **_optional(arrays))
    except PencilError as error:
        raise PencilError(f"{path}: {error}") from error


def _wanted(arrays: dict[str, Any], name: str) -> Any:
    for key in (name, _OTHER_NAMES[name]):
        if key in arrays:
            return arrays[key]
    raise PencilError(f'there is no array "{name}".{did_you_mean(name, arrays)}')


def _with_labels(arrays: dict[str, Any]) -> dict[str, Any]:
    """Give examples that have no labels the label "none"."""
    if {"y", "y_train"} & set(arrays):
        return arrays
    return arrays | {"y": np.full(len(_wanted(arrays, "x")), UNLABELLED)}


def _optional(arrays: dict[str, Any]) -> dict[str, Any]:
    given = {name: arrays[name] for name in _OPTIONAL if name in arrays}
    if ("x_test" in arrays) != ("y_test" in arrays):
        missing = "y_test" if "x_test" in arrays else "x_test"
        raise PencilError(f'there is no array "{missing}"; give both x_test and y_test, or neither.')
    if "x_test" in arrays:
        given["test"] = (arrays["x_test"], arrays["y_test"])
    return given
