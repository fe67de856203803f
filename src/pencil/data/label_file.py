"""Replaces a source's labels by those of a file: `FILE` or `FILE:key`.

    .npz:key, .npy       one label for each training example, in order (CIFAR-10N's arrays, say)
    .pt:key              the same, in a dictionary that torch.save wrote (`CIFAR-10_human.pt:worse_label`)
    .txt, .csv           a line for each example: its label, or `id,label`; a first line that has `label`, or begins
                         with `id`, is a header; so is any of three or more columns
    .csv, .parquet:key   a table with a column `id`, or another that holds the examples' ids, and the labels in the
                         column `key` (else `label`)

Texts are class names; numbers are the classes of that name where all classes are numbers, else they count them from 0;
nothing or −1 means "no label", unless a class is called so. Columns of a run's own tables that count classes (`final`,
say) have their names beside them (`final_name`), which are read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data import labels
from pencil.data.dataset import Examples
from pencil.data.files.numpy_files import names_in, read_npy, read_npz
from pencil.data.files.streams import refuse_stream
from pencil.errors import PencilError, did_you_mean

_COUNTED = ("given", "corrected", "final")
"""Columns of a run's tables that count its classes, whatever these are called."""
_SUFFIXES = (".npz", ".npy", ".pt", ".pth", ".txt", ".csv", ".parquet")


def relabel(examples: Examples, spec: str, class_names: tuple[str, ...]) -> Examples:
    """Return the examples under the labels of a file; known true labels stay known."""
    path, key = _locate(spec)
    try:
        values, ids = _read(path, key, examples.ids)
        values = labels.as_values(values)
        if ids is not None:
            values = _by_id(values, ids, examples.ids, path)
        if len(values) != len(examples):
            raise PencilError(f"it has {len(values)} labels for {len(examples)} training examples; give one each.")
        encoded = labels.encode(_names_or_numbers(values, class_names), class_names)
    except PencilError as error:
        raise PencilError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    return replace(examples, given=encoded.given, distribution=encoded.distribution)


def _locate(spec: str) -> tuple[Path, str]:
    path, key = Path(spec), ""
    if not path.is_file() and ":" in spec:
        before, _, key = spec.rpartition(":")
        path = Path(before)
    refuse_stream(path, "labels.csv")
    if not path.is_file():
        raise PencilError(f"the label file {path} does not exist; give FILE or FILE:key.")
    if path.suffix.lower() not in _SUFFIXES:
        raise PencilError(f"{path} is no kind of label file that is known; give one of {', '.join(_SUFFIXES)}.")
    return path, key


def _read(path: Path, key: str, wanted: NDArray[np.str_]) -> tuple[Any, list[str] | None]:
    """Return the label values and, where the file names its examples, their ids."""
    suffix = path.suffix.lower()
    try:
        if suffix == ".npy":
            return read_npy(path), None
        if suffix == ".npz":
            name = _choose(key, names_in(path))
            return read_npz(path, [name])[name], None
        if suffix in (".pt", ".pth"):
            return _read_torch(path, key), None
        if suffix == ".parquet":
            return _read_parquet(path, key, wanted)
        return _read_lines(path, key, wanted)
    except PencilError:
        raise
    except Exception as error:  # each format has its own way of being damaged
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PencilError(f"{path} cannot be read as labels ({reason}); write it again.") from error


def _choose(key: str, known: list[str]) -> str:
    if not key and len(known) == 1:
        return known[0]
    if not key and "label" in known:
        return "label"
    if key not in known:
        asked = f'has no labels called "{key}".' if key else "holds several; name one as FILE:key."
        raise PencilError(f"it {asked}{did_you_mean(key, known)}")
    return key


def _column(key: str, header: list[str]) -> str:
    """Return the column of labels; of a run's own that count classes, the one that names them."""
    name = _choose(key, [name for name in header if name != "id"])
    return f"{name}_name" if name in _COUNTED and f"{name}_name" in header else name


def _read_torch(path: Path, key: str) -> Any:
    import torch

    # Arrays in the dictionary are data too; NumPy's function for them has had two places.
    rebuild = np.empty(0).__reduce__()[0]
    places = [(rebuild, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
    safe: list[Any] = [np.ndarray, np.dtype, *places]
    kinds = [type(np.dtype(code)) for code in ("?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8")]
    with torch.serialization.safe_globals([*safe, *kinds]):
        content = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(content, dict):
        return content
    return content[_choose(key, [str(name) for name in content])]


def _read_parquet(path: Path, key: str, wanted: NDArray[np.str_]) -> tuple[Any, list[str] | None]:
    from pencil.data import tables

    table = tables.read_table(path)
    name = _column(key, table.column_names)
    values = tables.column(table, name).to_pylist()
    if "id" in table.column_names:
        return values, tables.texts(table, "id")
    plain = [other for other in table.column_names if isinstance(table[other][0].as_py(), str | int)]
    others = (tables.column(table, other).to_pylist() for other in plain if other != name)
    return values, _that_names((list(map(str, cells)) for cells in others), wanted)


def _that_names(columns: Iterable[list[str]], wanted: NDArray[np.str_]) -> list[str] | None:
    """Return the column that has the ids of all examples, whatever it is called: it says whose each label is."""
    names = set(wanted.tolist())
    return next((cells for cells in columns if names.issubset(cells)), None)


def _read_lines(path: Path, key: str, wanted: NDArray[np.str_]) -> tuple[Any, list[str] | None]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = list(csv.reader(file))
    rows = [row for row in lines if row]
    if not rows:
        raise PencilError("it is empty; write one label a line.")
    if other := next((mark for mark in ";\t" if all(len(row) == 1 and mark in row[0] for row in rows)), ""):
        found = "tabs" if other == "\t" else f'"{other}"'
        raise PencilError(f"it seems to be separated by {found}; separate it by commas.")
    header = rows[0]
    # A first line that lacks the name asked for must not pass for an example: another column would be read.
    if key or "label" in header or (header[0] == "id" and len(header) > 1) or len(header) > 2:
        column = header.index(_column(key, header))
        named = header.index("id") if "id" in header else 1 - column if len(header) == 2 else None
        rows, lines = rows[1:], lines[lines.index(header) + 1 :]
    else:
        column, named = (1, 0) if len(header) > 1 else (0, None)
    if len(header) == 1:
        rows = _with_gaps(lines, len(wanted)) or rows
    for line, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise PencilError(f"row {line} has {len(row)} fields, the first line {len(header)}; make them equal.")
    values = [row[column].strip() for row in rows]
    if named is not None:
        return values, [row[named] for row in rows]
    others = ([row[place] for row in rows] for place in range(len(header)) if place != column)
    return values, _that_names(others, wanted)


def _with_gaps(lines: list[list[str]], count: int) -> list[list[str]]:
    """Return a line for each example, empty ones being no label; nothing where there are not as many."""
    rows = [line or [""] for line in lines]
    return rows[:count] if len(rows) >= count and not any(lines[count:]) else []


def _by_id(values: NDArray[Any], ids: list[str], wanted: NDArray[np.str_], path: Path) -> NDArray[Any]:
    places = {name: place for place, name in enumerate(ids)}
    if len(places) < len(ids):
        twice = next(name for place, name in enumerate(ids) if places[name] != place)
        raise PencilError(f'the id "{twice}" occurs twice; keep one.')
    for name in wanted.tolist():
        if name not in places:
            raise PencilError(f'it has no label for the example "{name}"; give one line for each training example.')
    return values[np.array([places[name] for name in wanted.tolist()], dtype=np.int64)]


def _names_or_numbers(values: NDArray[Any], class_names: tuple[str, ...]) -> NDArray[Any]:
    """Texts like "3" are class numbers, and "-1" is no label, unless a class has that name."""
    if values.ndim != 1 or values.dtype == bool:
        return values
    if values.dtype.kind not in "iuf":
        known = set(class_names)
        names = [None if value == "-1" and value not in known else value for value in values]
        # pandas writes whole numbers beside empty cells as 7.0.
        whole = [None if name is None else name.removesuffix(".0") for name in names]
        if not known.isdisjoint(names) or not all(name is None or labels.is_number(name) for name in whole):
            return np.array(names, dtype=object)
        values = np.array([-1 if name is None else int(name) for name in whole], dtype=np.int64)
    return _by_value(values, class_names) if all(map(labels.is_number, class_names)) else values


def _by_value(values: NDArray[Any], class_names: tuple[str, ...]) -> NDArray[Any]:
    """Number labels as the classes that are called so: where these are 1 to 3, a 1 is the first of them."""
    # Not by way of floats, which merge large numbers.
    places = {int(name): place for place, name in enumerate(class_names)}
    known = {-1: -1, **places}
    numbers = values.tolist()
    for row, number in enumerate(numbers, start=1):
        if number == number and number not in known:
            raise PencilError(f"the label in row {row} is {number:g}; the classes are {', '.join(class_names)}.")
    return np.array([known.get(number, -1) for number in numbers], dtype=np.int64)
