"""Labels as people have them (numbers, names, soft labels, votes) turned into class numbers and distributions.

    1-D numbers or names      one label each; None, NaN, "" and −1 mean "no label" (in tables −1 is a class);
                              names in bytes, as HDF5 files have them, are UTF-8
    2-D floats [n, C]         soft labels: each row a distribution; all zeros or NaN mean "no label"
    2-D whole numbers [n, C]  votes: how many annotators chose each class; all zeros mean "no label"; several classes
                              of an example, each marked by 1, are refused

The label of an example with soft labels or votes is the class that has most; the first of several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data.dataset import UNLABELLED
from pencil.data.identity import as_text
from pencil.data.tensors import plain
from pencil.errors import PencilError, did_you_mean

WHOLE_NUMBER = re.compile("-?[0-9]+")
_MOST_SIGNS = 18
"""Of a number that surely fits into 64 bits."""
_TRUTH = {"False", "True"}
_ROW_SUM_TOLERANCE = 1e-2
_MOST_UNDECIDED = 0.25
"""Of examples, the share for which votes may all differ."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Class numbers (−1 where there is none), and the distributions they came from, if any."""

    given: NDArray[np.int64]
    distribution: NDArray[np.float32] | None = None


def as_values(labels: Any) -> NDArray[Any]:
    """Return labels as an array: numbers, soft labels, votes, or texts with None for "no label"."""
    # Arrow's own values would be names, None among them.
    is_arrow = hasattr(labels, "to_pylist") and not hasattr(labels, "columns")
    labels = labels.to_pylist() if is_arrow else plain(labels)
    if isinstance(labels, (Mapping, Set, Iterator)):
        kind = type(labels).__name__
        raise PencilError(f"labels are a {kind}; give a list or an array, one label for each example in their order.")
    if np.ma.is_masked(labels):
        hidden, labels = np.ma.getmaskarray(labels), np.array(labels, dtype=object)
        labels[hidden] = None
    try:
        array = np.asarray(labels)
        if array.ndim == 2:
            # Not the frame or list that it came from: a frame would give the names of its columns.
            labels = array = array[:, 0] if array.shape[1] == 1 else array
        if array.dtype.kind not in "biuf":
            # NumPy would turn a missing name into the text "nan": look at each as it was given.
            array = _from_objects(np.array(list(labels), dtype=object))
    except (ValueError, TypeError) as error:
        raise PencilError(
            f"labels cannot be understood ({error}); give one for each example, all of one kind."
        ) from error
    if array.ndim not in (1, 2):
        raise PencilError(f"labels have shape {array.shape}; give one for each example, or [examples, classes].")
    if array.dtype == bool and array.ndim == 2:
        array = array.astype(np.int64)
    if array.dtype.kind in "iu" and array.ndim == 2:
        _refuse_several_classes(array)
    if array.dtype == np.uint64 and array.max(initial=0) >= 2**63:
        # Beyond what counts here: names, as such numbers are elsewhere.
        return array.astype(np.str_).astype(object) if array.ndim == 1 else array
    return array


def _refuse_several_classes(marks: NDArray[Any]) -> None:
    """Refuse examples of several classes each: were they votes, some of an example's would agree."""
    count = marks.sum(axis=1)
    several = np.flatnonzero(count > 1)
    if marks.max(initial=0) == 1 and len(several) > _MOST_UNDECIDED * (count > 0).sum():
        raise PencilError(
            f"the labels in row {several[0] + 1} are {marks[several[0]].tolist()}, and many others have several classes"
            " too; give one class for each, or, where these are votes, their shares: y / y.sum(1, keepdims=True)."
        )


def _from_objects(array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 1 and len(array) and all(isinstance(value, (list, tuple, np.ndarray)) for value in array):
        return np.array([np.asarray(value) for value in array])
    if array.ndim == 2:
        return np.array(array.tolist())
    array = np.array([as_text(value, "label") if isinstance(value, bytes) else value for value in array], dtype=object)
    missing = np.array([_is_missing(value) for value in array], dtype=bool)
    whole = all(isinstance(value, (Integral, np.bool_)) for value in array[~missing])
    large = whole and any(abs(int(value)) >= 2**63 for value in array[~missing])
    if large:
        missing |= array == UNLABELLED
    if large or not all(isinstance(value, (Real, np.bool_)) for value in array[~missing]):
        texts = [None if missing[row] else _spelled(value, row) for row, value in enumerate(array)]
        return np.array(texts, dtype=object)
    if whole:
        # Not by way of floats, which merge large ones.
        return np.array([UNLABELLED if gone else int(value) for value, gone in zip(array, missing, strict=True)])
    return _whole(np.array([np.nan if gone else float(value) for value, gone in zip(array, missing, strict=True)]))


def _spelled(value: Any, row: int) -> str:
    if isinstance(value, (Mapping, Set)):
        kind = type(value).__name__
        raise PencilError(f"the label in row {row + 1} is a {kind}; give one name or number for each example.")
    return str(value)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value == "" or value != value


def _whole(values: NDArray[Any]) -> NDArray[np.int64]:
    """Turn floats that count into whole numbers, NaN into "no label", and refuse fractions."""
    filled = np.where(np.isnan(values), UNLABELLED, values.astype(np.float64))
    # From 2⁶³ on a number has no place among whole ones; infinity is such a number too.
    wrong = np.flatnonzero((filled != np.round(filled)) | (np.abs(filled) >= 2.0**63))
    if len(wrong):
        raise PencilError(
            f"the label in row {wrong[0] + 1} is {filled[wrong[0]]:g}, not a whole number;"
            " give whole class numbers or names (or an [examples, classes] array for soft labels)."
        )
    return filled.astype(np.int64)


def as_names(labels: Sequence[Any]) -> NDArray[Any]:
    """Return a table's labels as names, None where there is none: empty cells say so there, and −1 is a class."""
    array = as_values(labels)
    if array.dtype.kind == "f" and array.ndim == 1:
        array = _whole(array)
    if array.ndim == 2 or array.dtype.kind not in "biu":
        return array
    names = {value: None if _is_missing(value) else _name_of(value) for value in dict.fromkeys(labels)}
    return np.array([names[value] for value in labels], dtype=object)


def _name_of(value: Any) -> str:
    return str(bool(value)) if isinstance(value, (bool, np.bool_)) else str(int(value))


def as_marks(marks: Any) -> NDArray[np.bool_]:
    """Return marks of examples, each of them true or false, 1 or 0."""
    array = np.asarray(plain(marks))
    if array.ndim != 1 or not all(isinstance(mark, (bool, np.bool_)) or mark in (0, 1) for mark in array.tolist()):
        raise PencilError("trusted marks are not all true or false; give True or False for each example.")
    return array.astype(np.bool_)


def class_names_of(*sets: NDArray[Any]) -> tuple[str, ...]:
    """Collect the class names from the label values of all sets, sorted; columns are numbered.

    Truth values are called False and True, but 0 and 1 where another set has numbers for them.
    """
    for values in sets:
        if values.ndim == 2:
            return tuple(str(column) for column in range(values.shape[1]))
    found: set[Any] = set()
    all_truth = all(values.dtype == bool for values in sets)
    for values in sets:
        found.update(_named(values if all_truth else _as_numbers(values)))
    return tuple(str(value) for value in sorted(found, key=_by_number_then_text))


def terms_of(values: NDArray[Any], class_names: Sequence[str]) -> NDArray[Any] | None:
    """Return what label values call each class, names or numbers; soft labels and votes count classes: None."""
    if values.ndim == 2:
        return None
    texts = np.array(class_names)
    if values.dtype == bool and (truths := truths_in(class_names)) is not None:
        return truths
    try:
        return texts.astype(np.int64) if values.dtype.kind in "biuf" else texts
    except ValueError:  # Another set has names for the same classes.
        return texts


def is_number(text: str) -> bool:
    """Say whether a text is a whole number, of a size that can be reckoned with."""
    return len(text) <= _MOST_SIGNS and bool(WHOLE_NUMBER.fullmatch(text))


def terms_in(class_names: Sequence[str]) -> NDArray[Any]:
    """Return what a file calls each class: numbers where all are, and nothing of how they are spelled gets lost."""
    texts = np.array(class_names)
    numbers = texts.astype(np.int64) if all(map(is_number, class_names)) else texts
    return numbers if numbers.astype(texts.dtype).tolist() == list(class_names) else texts


def truths_in(class_names: Sequence[str]) -> NDArray[np.bool_] | None:
    """Return the truth value that each class is; None where there are others."""
    return np.array([name == "True" for name in class_names]) if set(class_names) <= _TRUTH else None


def _named(values: NDArray[Any]) -> Iterable[Any]:
    if values.dtype.kind == "f":
        values = _whole(values)
    if values.dtype.kind in "iu":
        wrong = np.flatnonzero(values < UNLABELLED)
        if len(wrong):
            raise PencilError(f"the label in row {wrong[0] + 1} is {values[wrong[0]]}; give 0 or more, or -1 for none.")
        return [int(value) for value in np.unique(values) if value != UNLABELLED]
    return {str(value) for value in set(values.tolist()) if not _is_missing(value)}


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.int64) if values.dtype == bool else values


def _by_number_then_text(value: Any) -> tuple[int, float, str]:
    text = str(value)
    return (0, float(text), text) if WHOLE_NUMBER.fullmatch(text) else (1, 0.0, text)


def encode(values: NDArray[Any], class_names: Sequence[str], *, by_name: bool = False, what: str = "label") -> Labels:
    """Turn label values into class numbers: texts are names; numbers count classes from 0, or are names by_name."""
    if values.ndim == 2:
        return _from_matrix(values, len(class_names))
    if values.dtype == bool and by_name and set(class_names) <= _TRUTH:
        values = values.astype(np.str_).astype(object)
    values = _as_numbers(values)
    if values.dtype.kind == "f":
        values = _whole(values)
    if values.dtype.kind not in "iu":
        return Labels(_from_texts(values, class_names, what))
    numbers = values.astype(np.int64)
    if by_name and list(class_names) != [str(number) for number in range(len(class_names))]:
        texts = np.array([None if number == UNLABELLED else str(number) for number in numbers], dtype=object)
        return Labels(_from_texts(texts, class_names, what))
    return Labels(_from_numbers(numbers, len(class_names), what))


def _from_numbers(values: NDArray[np.int64], num_classes: int, what: str) -> NDArray[np.int64]:
    wrong = np.flatnonzero((values < UNLABELLED) | (values >= num_classes))
    if len(wrong):
        raise PencilError(
            f"the {what} in row {wrong[0] + 1} is {values[wrong[0]]};"
            f" give 0 to {num_classes - 1} ({num_classes} classes), or -1 for none."
        )
    return values


def _from_texts(values: NDArray[Any], class_names: Sequence[str], what: str) -> NDArray[np.int64]:
    numbers = {name: position for position, name in enumerate(class_names)}
    cells = values.tolist()
    # Each different value is looked at once: there may be very many rows.
    found = {value: UNLABELLED if _is_missing(value) else numbers.get(str(value)) for value in dict.fromkeys(cells)}
    for value, number in found.items():
        if number is None:
            remedy = did_you_mean(str(value), numbers)
            raise PencilError(f'the {what} in row {cells.index(value) + 1} is "{value}", not a class.{remedy}')
    return np.array([found[value] for value in cells], dtype=np.int64)


def _from_matrix(values: NDArray[Any], num_classes: int) -> Labels:
    if values.shape[1] != num_classes:
        raise PencilError(f"labels have {values.shape[1]} columns for {num_classes} classes; give one column a class.")
    votes = values.dtype.kind in "iu"
    try:
        weights = np.nan_to_num(values.astype(np.float64), nan=0.0)
    except (TypeError, ValueError):
        raise PencilError(f"labels are {values.shape[1]} names for each example; give one for each.") from None
    total = weights.sum(axis=1)
    off = np.flatnonzero((weights < 0).any(axis=1) | ~np.isfinite(total))
    if not votes and not len(off):
        off = np.flatnonzero((total != 0) & (np.abs(total - 1) > _ROW_SUM_TOLERANCE))
    if len(off):
        rule = "counts of votes, 0 or more" if votes else "shares that are 0 or more and sum to 1 (or all 0 for none)"
        raise PencilError(f"the labels in row {off[0] + 1} are {values[off[0]].tolist()}; give {rule}.")
    distribution = weights / np.where(total == 0, 1, total)[:, None]
    given = np.where(total == 0, UNLABELLED, distribution.argmax(axis=1))
    return Labels(given.astype(np.int64), distribution.astype(np.float32))
