"""Datasets from what is given in Python: arrays, data frames, datasets of torch and of Hugging Face."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from torch.utils.data import Dataset as TorchDataset

from pencil.data import labels
from pencil.data.arrays import from_arrays
from pencil.data.dataset import UNLABELLED, Dataset
from pencil.data.hugging_face import OPTIONS as OF_HUGGING_FACE
from pencil.data.hugging_face import from_hugging_face, is_hugging_face
from pencil.data.request import Request
from pencil.data.sources import table
from pencil.data.tables.frames import Frame, as_frame, is_frame
from pencil.data.torch_dataset import from_torch
from pencil.errors import PencilError

OPTIONS = frozenset({*table.OPTIONS, *OF_HUGGING_FACE, "raw"})
"""By which data of people's own is read, whatever it is; published datasets may have others."""
_USUAL_LABEL = "label"


def from_given(source: Any, request: Request | None = None) -> Dataset:
    """Make a dataset of whatever holds one, or of a pair (x, y); where no labels are needed, of x alone too."""
    request = request or Request()
    if isinstance(source, Dataset):
        request.check_options("a pencil.data.Dataset", ())
        return source
    if is_hugging_face(source):
        return from_hugging_face(source, request)
    if isinstance(source, tuple) and len(source) == 2:
        return _from_pair(*source, request)
    if is_frame(source):
        return from_frame(source, request=request)
    if isinstance(source, TorchDataset):
        request.check_options("torch", ("raw",))
        return from_torch(source, raw=request.flag("raw"))
    if request.labels_needed or not _holds_numbers(source):
        alone = "" if request.labels_needed else "an array, "
        raise PencilError(
            f"no data can be read from an object of type {type(source).__name__}; give a path, {alone}(x, y) arrays, a"
            " data frame, a torch dataset of (x, y), a Hugging Face dataset or a pencil.data.Dataset."
        )
    return _from_pair(source, np.full(len(source), UNLABELLED), request)


def options_of(source: Any) -> frozenset[str]:
    """Return the names of the options that say how such data is read."""
    if is_hugging_face(source):
        return frozenset(OF_HUGGING_FACE)
    if is_frame(source):
        return frozenset(table.OPTIONS)
    if isinstance(source, tuple) and len(source) == 2 and is_frame(source[0]):
        return frozenset(table.OPTIONS) - {"label"}
    return frozenset() if isinstance(source, Dataset) else frozenset({"raw"})


def from_frame(frame: Any, y: Any = None, *, request: Request | None = None) -> Dataset:
    """Make a dataset of a data frame as of a file of its columns; `y` is its labels, or the column that has them."""
    request, held = request or Request(), as_frame(frame)
    request.check_options("a data frame", table.OPTIONS)
    if isinstance(y, str):
        request, y = _with_label(request, y), None
    if y is None:
        return table.read_from(held, request)
    values = labels.as_values(y)
    dataset = table.read_from(*_with_labels(held, values, getattr(y, "name", None), request))
    return replace(dataset, terms=labels.terms_of(values, dataset.class_names))


def _from_pair(x: Any, y: Any, request: Request) -> Dataset:
    if is_frame(x):
        return from_frame(x, y, request=request)
    request.check_options("arrays", ("raw",))
    return from_arrays(x, y, raw=request.flag("raw"))


def _holds_numbers(source: Any) -> bool:
    return hasattr(source, "__array__") or hasattr(source, "detach") or isinstance(source, (list, tuple))


def _with_labels(frame: Frame, values: Any, own_name: Any, request: Request) -> tuple[Frame, Request]:
    """Put labels into the frame: a column by their own name takes the place of the one that it was taken from."""
    if values.ndim != 1:
        raise PencilError(
            "labels beside a data frame are one for each row; of shares or votes make columns of the frame, and name"
            " them (data.options.soft or data.options.votes)."
        )
    rows, columns = frame.table.num_rows, frame.table.column_names
    if len(values) != rows:
        raise PencilError(f"there are {len(values)} labels for {rows} examples; give one each.")
    name = own_name if isinstance(own_name, str) and own_name else _USUAL_LABEL
    if name in columns and name != own_name:
        raise PencilError(
            f'the data frame has a column "{name}" beside the labels that are given; leave that column out, or give the'
            " frame alone."
        )
    # Beside an array −1 stands for no label, in a column an empty cell does.
    cells = [None if value == UNLABELLED else value for value in values.tolist()]
    others = frame.table.drop_columns([name]) if name in columns else frame.table
    return Frame(others.append_column(name, pa.array(cells))), _with_label(request, name)


def _with_label(request: Request, name: str) -> Request:
    if "label" in request.options:
        raise PencilError("labels are given beside the data frame; leave data.options.label out.")
    return replace(request, options={**request.options, "label": name})
