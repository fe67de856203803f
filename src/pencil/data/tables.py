"""Reads columns of CSV and Parquet files: labels, ids, sets and features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from pencil.data.arrays import as_rows
from pencil.data.vectors import is_vector, vectors
from pencil.errors import PencilError, did_you_mean

_MOST_LEVELS = 1000


def read_table(path: Path) -> Any:
    """Return a file as an Arrow table."""
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            table = pa.parquet.read_table(path)
        else:
            options = pa.csv.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
            table = pa.csv.read_csv(path, parse_options=options)
        # A damaged file can hold texts that are none, in its columns or their names.
        table.validate(full=True)
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PencilError(f"{path} cannot be read as a table ({reason}); mend it or write it again.") from error
    if not table.num_rows:
        raise PencilError(f"{path} has no rows; give at least two examples.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PencilError(f'{path} has two columns called "{twice}"; rename one.')
    return table


def column(table: Any, name: str) -> Any:
    """Return a column that must be there, dictionaries and chunks undone."""
    if name not in table.column_names:
        raise PencilError(f'there is no column "{name}".{did_you_mean(name, table.column_names)}')
    found = table[name].combine_chunks()
    if pa.types.is_dictionary(found.type):
        found = found.dictionary_decode()
    if pa.types.is_binary(found.type) or pa.types.is_large_binary(found.type):
        raise PencilError(f'the column "{name}" is not UTF-8 text; save the file as UTF-8.')
    return found


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
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_null(values.type)):
            raise PencilError(f'the column "{name}" is {values.type}, not numbers; give another.')
        as_numbers = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        parts.append(np.asarray(as_numbers, dtype=np.float64))
    return np.stack(parts, axis=1)


def features(table: Any, names: Sequence[str]) -> tuple[NDArray[np.float32], list[str]]:
    """Return the features as rows, and their names: numbers as they are, lists side by side, texts a column each."""
    parts, titles = [], []
    for name in names:
        values, levels = _feature(table, name)
        parts.append(values)
        titles += levels
    return as_rows(np.concatenate(parts, axis=1), titles), titles


def _feature(table: Any, name: str) -> tuple[NDArray[np.float64], list[str]]:
    values = column(table, name)
    if pa.types.is_boolean(values.type):
        values = pc.cast(values, pa.int8())
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        as_numbers = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return np.asarray(as_numbers, dtype=np.float64)[:, None], [name]
    if is_vector(values.type):
        return vectors(values, name)
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise PencilError(f'the column "{name}" is {values.type}, neither numbers nor texts; leave it out of features.')
    # A missing text is a level of its own: that it is missing may say something.
    plain = np.array(["" if value is None else value for value in values.to_pylist()], dtype=np.str_)
    levels, codes = np.unique(plain, return_inverse=True)
    if len(levels) > _MOST_LEVELS:
        raise PencilError(f'the column "{name}" has {len(levels)} different texts; name the features without it.')
    return np.eye(len(levels))[codes], [f"{name}={level}" for level in levels]
