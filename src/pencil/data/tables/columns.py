"""Columns of a table as texts and as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pencil.data.files.claims import refuse_bomb
from pencil.errors import PencilError, did_you_mean


def column(table: Any, name: str) -> Any:
    """Return a column that must be there, dictionaries and chunks undone."""
    # Not by the list of names, which is made anew each time: a table may have very many.
    place = table.schema.get_field_index(name)
    if place < 0:
        raise PencilError(f'there is no column "{name}".{did_you_mean(name, table.column_names)}')
    found = table.column(place).combine_chunks()
    if pa.types.is_dictionary(found.type):
        found = _unpacked(found, name)
    if pa.types.is_binary(found.type) or pa.types.is_large_binary(found.type):
        try:
            return pc.cast(found, pa.large_string() if pa.types.is_large_binary(found.type) else pa.string())
        except pa.ArrowInvalid as error:
            raise PencilError(f'the column "{name}" is not UTF-8 text; save the file as UTF-8.') from error
    return found


def _unpacked(values: Any, name: str) -> Any:
    """Undo a dictionary; a long text that stands in very many rows could take all memory."""
    try:
        lengths = pc.binary_length(values.dictionary).take(values.indices)
        refuse_bomb(pc.sum(lengths).as_py() or 0, values.nbytes)
    except pa.ArrowNotImplementedError:
        pass  # Numbers have no length.
    except ValueError as error:
        raise PencilError(f'the column "{name}" cannot be read ({error}); give shorter texts.') from error
    return values.dictionary_decode()


def texts(table: Any, name: str) -> list[str]:
    """Return a column as texts, none of them missing."""
    values = column(table, name).to_pylist()
    for row, value in enumerate(values):
        if value is None or value == "":
            raise PencilError(f'row {row + 1}, column "{name}" is empty; fill it in.')
    return [str(value) for value in values]


def numbers(table: Any, names: Sequence[str]) -> NDArray[np.float64]:
    """Return columns of numbers side by side, NaN where one is missing."""
    parts = []
    for name in names:
        values = column(table, name)
        if not (counts(values.type) or pa.types.is_null(values.type)):
            raise PencilError(f'the column "{name}" is {values.type}, not numbers; give another.')
        parts.append(as_floats(values))
    return np.stack(parts, axis=1)


def is_text(kind: Any) -> bool:
    """Say whether a type of Arrow's is one of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def counts(kind: Any) -> bool:
    """Say whether a type of Arrow's is one of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def as_floats(values: Any) -> NDArray[np.float64]:
    """Return numbers as floats, NaN where one is missing."""
    return np.asarray(pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def as_texts(values: Any) -> list[str]:
    """Return values as texts; one that is missing is empty."""
    found: list[str] = pc.fill_null(pc.cast(values, pa.large_string()), "").to_pylist()
    return found
