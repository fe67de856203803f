"""A CSV or Parquet file: a label in each row, and an image's path, columns of features or a column of embeddings.

Options name columns: `label` (else label, target, class or y); `image`, a path from the file's folder or --root;
`id` and `split` (train, val or test), else the columns of these names; `features`, else all others; `clean`, true
labels for measuring only. Instead of one label: `soft`, a column of shares for each class; `votes`, a column of
counts for each class; `annotators`, a column for each person's label.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data import image_files, labels, tables
from pencil.data.arrays import describe_inputs
from pencil.data.dataset import UNLABELLED, ArrayInputs, Dataset, Examples, Inputs, Preparation
from pencil.data.identity import content_ids, given_ids
from pencil.data.request import Request
from pencil.errors import PencilError

_LABEL_NAMES = ("label", "target", "class", "y")
_IMAGE_NAMES = ("image", "path", "file", "filename")
_SETS = {"train": "train", "val": "held_out", "valid": "held_out", "validation": "held_out", "test": "test"}
_OPTIONS = ("label", "image", "id", "split", "clean", "features", "soft", "votes", "annotators")


def read(request: Request) -> Dataset:
    """Read a table; errors name the row, counted from 1 after the header."""
    request.check_options("table", (*_OPTIONS, *image_files.OPTIONS))
    path = request.existing("table")
    table = tables.read_table(path)
    try:
        return _read(table, path, request)
    except PencilError as error:
        raise PencilError(str(error) if str(path.parent) in str(error) else f"{path}: {error}") from error


def _read(table: Any, path: Path, request: Request) -> Dataset:
    label = _label_column(table, request)
    values, names = _labels(table, label, request)
    truth = _values(table, request.text("clean")) if request.text("clean") else None
    classes = names or labels.class_names_of(*(part for part in (values, truth) if part is not None))
    encoded = labels.encode(values, classes, by_name=True)
    known = None if truth is None else labels.encode(truth, classes, by_name=True, what="clean label").given
    inputs, ids, preparation, backbone, facts = _inputs(table, path, label, request)
    everything = Examples(inputs, ids, encoded.given, encoded.distribution, clean=known)
    sets = _split(everything, table, _usual(table, request, "split"))
    return Dataset(
        path.stem, classes, sets["train"], preparation, held_out=sets.get("held_out"), test=sets.get("test"),
        default_backbone=backbone, facts=facts,
    )  # fmt: skip


def _label_column(table: Any, request: Request) -> str:
    """Return the label's column, or nothing where labels come in several columns."""
    ways = [name for name in ("soft", "votes", "annotators") if request.texts(name)]
    if request.text("label") or ways:
        if len(ways) + bool(request.text("label")) > 1:
            raise PencilError(f"labels are named in several ways ({', '.join(ways)}, label); give one.")
        return request.text("label")
    by_name = {name.lower(): str(name) for name in table.column_names}
    for name in _LABEL_NAMES:
        if name in by_name:
            return by_name[name]
    if not request.labels_needed:
        return ""
    known = ", ".join(table.column_names)
    raise PencilError(f"there is no column called label, target, class or y; name it by option label (of {known}).")


def _labels(table: Any, label: str, request: Request) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the label values and, where columns name them, the classes."""
    if not request.labels_needed and _lacks_labels(table, label, request):
        return np.full(table.num_rows, UNLABELLED), ()
    if label:
        return _values(table, label), ()
    if columns := request.texts("soft"):
        return tables.numbers(table, columns), columns
    if columns := request.texts("votes"):
        return _whole_numbers(np.nan_to_num(tables.numbers(table, columns)), columns), columns
    answers = [_values(table, name) for name in request.texts("annotators")]
    classes = labels.class_names_of(*answers)
    counts = np.zeros((table.num_rows, len(classes)), dtype=np.int64)
    for answer in answers:
        given = labels.encode(answer, classes, by_name=True).given
        rows = np.flatnonzero(given >= 0)
        counts[rows, given[rows]] += 1
    return counts, classes


def _lacks_labels(table: Any, label: str, request: Request) -> bool:
    named = [label] if label else [name for way in ("soft", "votes", "annotators") for name in request.texts(way)]
    return not named or any(name not in table.column_names for name in named)


def _values(table: Any, name: str) -> NDArray[Any]:
    return labels.as_values(tables.column(table, name).to_pylist())


def _whole_numbers(values: NDArray[np.float64], columns: Sequence[str]) -> NDArray[np.int64]:
    wrong = np.argwhere(values != np.round(values))
    if len(wrong):
        row, place = wrong[0]
        raise PencilError(
            f'row {row + 1}, column "{columns[place]}" is {values[row, place]:g}; votes are whole numbers.'
        )
    return values.astype(np.int64)


def _inputs(
    table: Any, path: Path, label: str, request: Request
) -> tuple[Inputs, NDArray[np.str_], Preparation, str, dict[str, Any]]:
    """Return images where a column names them, else rows of features."""
    image, keys = _image_column(table, request), _usual(table, request, "id")
    if image:
        names = tables.texts(table, image)
        files = [(request.root or path.parent) / name for name in names]
        inputs, preparation, backbone, facts = image_files.read_images(files, names, request)
        ids = given_ids(tables.texts(table, keys) if keys else names, table.num_rows)
        return inputs, ids, preparation, backbone, facts
    used = {label, keys, _usual(table, request, "split"), request.text("clean")}
    used.update(column for name in ("soft", "votes", "annotators") for column in request.texts(name))
    columns = request.texts("features") or [name for name in table.column_names if name not in used]
    if not columns:
        raise PencilError("there are no columns of features; name an image column or features.")
    rows, titles = tables.features(table, columns)
    ids = given_ids(tables.texts(table, keys), len(rows)) if keys else content_ids(rows)
    preparation, backbone, _ = describe_inputs(rows)
    return ArrayInputs(rows), ids, preparation, backbone, {"features": titles}


def _usual(table: Any, request: Request, name: str) -> str:
    """Return the column an option names, else the one that is called like the option, if there is one."""
    return request.text(name) or (name if name in table.column_names else "")


def _image_column(table: Any, request: Request) -> str:
    if request.text("image") or request.texts("features"):
        return request.text("image")
    return next((name for name in table.column_names if name.lower() in _IMAGE_NAMES and _is_text(table, name)), "")


def _is_text(table: Any, name: str) -> bool:
    return bool(isinstance(tables.column(table, name)[0].as_py(), str))


def _split(everything: Examples, table: Any, name: str) -> dict[str, Examples]:
    if not name:
        return {"train": everything}
    words = np.array([word.strip().lower() for word in tables.texts(table, name)])
    for row, word in enumerate(words.tolist()):
        if word not in _SETS:
            raise PencilError(f'row {row + 1}, column "{name}" is "{word}"; give train, val or test.')
    kinds = np.array([_SETS[word] for word in words.tolist()])
    if "train" not in kinds:
        raise PencilError(f'the column "{name}" marks no row as train; give some to train on.')
    return {kind: everything.take(np.flatnonzero(kinds == kind)) for kind in sorted(set(kinds.tolist()))}
