"""Reads columns of CSV and Parquet files: labels, ids, sets and features."""

from __future__ import annotations

from collections import Counter
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
from pencil.data.claims import refuse_bomb
from pencil.data.vectors import is_vector, vectors
from pencil.errors import PencilError, did_you_mean

_MOST_LEVELS = 1000
_MOST_COLUMNS = 100_000
_LONGEST_HEADER = 2**20
"""Bytes of a first line that are read."""


def read_table(path: Path) -> Any:
    """Return a file as an Arrow table."""
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            table = _read_parquet(path)
        else:
            mark = "\t" if path.suffix.lower() == ".tsv" else ","
            with path.open("rb") as file:
                _refuse_columns(file.readline(_LONGEST_HEADER).count(mark.encode()) + 1)
            table = pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter=mark))
        # A damaged file can hold texts that are none, in its columns or their names.
        table.validate(full=True)
        names = table.column_names
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PencilError(f"{path} cannot be read as a table ({reason}); mend it or write it again.") from error
    if not table.num_rows:
        raise PencilError(f"{path} has no rows; give at least two examples.")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise PencilError(f'{path} has two columns called "{twice}"; rename one.')
    return table


def _refuse_columns(count: int) -> None:
    if count > _MOST_COLUMNS:
        raise ValueError(f"it has {count:,} columns, more than {_MOST_COLUMNS:,}")


def _read_parquet(path: Path) -> Any:
    """Read a file whose few bytes may stand for very many values; texts stay in dictionaries until they are counted."""
    with pa.parquet.ParquetFile(path) as file:
        described, size = file.metadata, path.stat().st_size
        _refuse_columns(described.num_columns)
        leaves = [described.schema.column(place) for place in range(described.num_columns)]
        for group in range(described.num_row_groups):
            # A damaged description of a column is an error here; asked for below, it would end the process.
            next(file.iter_batches(batch_size=1, row_groups=[group]), None)
    claimed = 0
    for group in range(described.num_row_groups):
        row_group = described.row_group(group)
        for place, leaf in enumerate(leaves):
            claimed += row_group.column(place).num_values * max(leaf.length or 0, 8)
    refuse_bomb(claimed, size)
    return pa.parquet.read_table(
        path, read_dictionary=[leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    )


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
        raise PencilError(f'the column "{name}" is not UTF-8 text; save the file as UTF-8.')
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
