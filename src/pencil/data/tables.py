"""Reads columns of tables, in CSV and Parquet files or in memory: labels, ids, sets and features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from pencil.data.arrays import as_rows, blurred
from pencil.data.claims import refuse_bomb
from pencil.data.class_columns import spelled_out
from pencil.data.dataset import DataFacts
from pencil.data.frames import Frame
from pencil.data.label_cells import as_labels
from pencil.data.vectors import is_vector, vectors
from pencil.errors import PencilError, did_you_mean

_MOST_LEVELS = 1000
_MOST_COLUMNS = 100_000
_LONGEST_HEADER = 2**20
"""Bytes of a first line that are read."""
_BLOCK_BYTES = 2**24
"""Of a CSV file that are taken at once; each row must fit, and one of very many columns is long."""


Place = Path | Frame
"""Where a table is: a file, or the memory."""


def column_names(path: Place) -> list[str]:
    """Return what a table's columns are called, before the rest of a file is read."""
    with _reading(path):
        if isinstance(path, Frame):
            _refuse_columns(path.table.num_columns)
            return list(path.table.column_names)
        if _is_parquet(path):
            # Absolute, since Arrow takes the start of a relative path like "noise:0.4.parquet" for that of an address.
            with pa.parquet.ParquetFile(path.absolute()) as file:
                _refuse_columns(file.metadata.num_columns)
                return list(file.schema_arrow.names)
        with path.open("rb") as file:
            header = file.readline(_LONGEST_HEADER)
        _refuse_other_code(path, header)
        _refuse_columns(header.count(_mark(path).encode()) + 1)
        _refuse_other_mark(path, header)
        with pa.csv.open_csv(path, **_how(path)) as reader:
            return list(reader.schema.names)


def read_table(
    path: Place,
    columns: Collection[str] | None = None,
    *,
    spelled: Collection[str] = (),
    labels: Collection[str] = (),
    least: str = "two examples",
) -> Any:
    """Return a table, or those of some columns that it has, as Arrow holds it.

    A CSV file's columns have the types their cells look like, but for those `spelled`, which are texts as they stand,
    and `labels`, which are texts or whole numbers. A file without rows is refused: `least` says what it must have.
    """
    found = column_names(path)
    names = found if columns is None else [name for name in found if name in columns]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise PencilError(f'{path} has two columns called "{twice}"; rename one.')
    with _reading(path):
        table = _read(path, names, {*spelled, *labels})
        # A damaged file can hold texts that are none.
        table.validate(full=True)
    if not table.num_rows:
        raise PencilError(f"{path} has no rows; give at least {least}.")
    for name in labels if _is_text(path) else ():
        if name in names:
            table = table.set_column(names.index(name), name, as_labels(column(table, name)))
    return table


def _read(path: Place, names: Sequence[str], spelled: Collection[str]) -> Any:
    if isinstance(path, Frame):
        return spelled_out(path.select(names))
    return _read_csv(path, names, spelled) if _is_text(path) else _read_parquet(path, names)


@contextmanager
def _reading(path: Place) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PencilError(f"{path} cannot be read as a table ({reason}); mend it or write it again.") from error


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def _is_text(path: Place) -> bool:
    """Say whether cells are spelled out, and their kinds guessed."""
    return not (isinstance(path, Frame) or _is_parquet(path))


def _mark(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _how(path: Path) -> dict[str, Any]:
    """Return how a CSV file is taken apart: texts in quotes may have lines of their own."""
    return {
        "parse_options": pa.csv.ParseOptions(delimiter=_mark(path), newlines_in_values=True),
        "read_options": pa.csv.ReadOptions(block_size=_BLOCK_BYTES),
    }


def _refuse_other_code(path: Path, header: bytes) -> None:
    """Refuse texts in another code, as UTF-16, whose every second byte is zero."""
    try:
        # A very long line is cut, perhaps within a letter.
        zero = "\0" in header.decode(errors="strict" if len(header) < _LONGEST_HEADER else "replace")
    except UnicodeDecodeError:
        zero = True
    if zero:
        raise PencilError(f"{path} is not UTF-8 text; save the file as UTF-8.")


def _refuse_other_mark(path: Path, header: bytes) -> None:
    """Refuse a file that would be one column, since another mark separates its cells."""
    if _mark(path).encode() in header:
        return
    if other := next((mark for mark in ";|" if mark.encode() in header), ""):
        wanted = "tabs" if _mark(path) == "\t" else "commas"
        raise PencilError(f'{path} seems to be separated by "{other}"; separate it by {wanted}.')
    if b"\t" in header:
        raise PencilError(f"{path} seems to be separated by tabs; call it .tsv, or separate it by commas.")
    if b"," in header:
        raise PencilError(f"{path} seems to be separated by commas; call it .csv, or separate it by tabs.")


def _refuse_columns(count: int) -> None:
    if count > _MOST_COLUMNS:
        raise ValueError(f"it has {count:,} columns, more than {_MOST_COLUMNS:,}")


def _read_csv(path: Path, names: Sequence[str], spelled: Collection[str]) -> Any:
    # Bytes first: that a text is not UTF-8 is told when its column is asked for.
    kinds = {name: pa.binary() for name in names if name in spelled}
    wanted = pa.csv.ConvertOptions(include_columns=names, column_types=kinds)
    return pa.csv.read_csv(path, convert_options=wanted, **_how(path))


def _read_parquet(path: Path, names: Sequence[str]) -> Any:
    """Read a file whose few bytes may stand for very many values; texts stay in dictionaries until they are counted."""
    with pa.parquet.ParquetFile(path.absolute()) as file:
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
    packed = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    return spelled_out(pa.parquet.read_table(path.absolute(), columns=names, read_dictionary=packed).select(names))


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
        if not (_counts(values.type) or pa.types.is_null(values.type)):
            raise PencilError(f'the column "{name}" is {values.type}, not numbers; give another.')
        parts.append(_as_floats(values))
    return np.stack(parts, axis=1)


def _counts(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _as_floats(values: Any) -> NDArray[np.float64]:
    return np.asarray(pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def features(table: Any, names: Sequence[str]) -> tuple[NDArray[np.float32], DataFacts]:
    """Return the features as rows, and facts about them, first of all their names.

    Numbers are as they are, lists side by side, and each text is a column. A cell of numbers may be empty.
    """
    parts, titles, single, together = [], list[str](), list[bool](), list[list[int]]()
    for name in names:
        values, own = _feature(table, name)
        parts.append(values)
        if values.dtype == np.bool_:
            together.append(list(range(len(titles), len(titles) + len(own))))
        titles += own
        single += [own == [name]] * len(own)
    twice = [title for title, count in Counter(titles).items() if count > 1]
    if twice:
        raise PencilError(f'two features would be called "{twice[0]}"; rename the column "{twice[0]}" or its fellow.')
    exact = np.concatenate(parts, axis=1)
    rows = as_rows(exact, titles, gaps=single)
    return rows, {**blurred(exact, rows, titles), **missing(rows, titles), "features": titles, "levels": together}


def missing(rows: NDArray[np.float32], titles: Sequence[str]) -> DataFacts:
    """Return a line on numbers that are missing, if any are."""
    counts = np.isnan(rows).sum(axis=0)
    found = [title for title, count in zip(titles, counts, strict=True) if count]
    if not found:
        return {}
    where = f'the column "{found[0]}"' if len(found) == 1 else f'{len(found)} columns, "{found[0]}" and others'
    return {"missing": f"{counts.sum():,} cells of {where} are empty; the network sees them as the column's mean."}


def _feature(table: Any, name: str) -> tuple[NDArray[Any], list[str]]:
    """Return a column as one feature or more, and what they are called; of texts a truth value for each."""
    values = column(table, name)
    if pa.types.is_boolean(values.type):
        values = pc.cast(values, pa.int8())
    if _counts(values.type):
        return _as_floats(values)[:, None], [name]
    if is_vector(values.type):
        return vectors(values, name)
    if pa.types.is_null(values.type):
        raise PencilError(f'the column "{name}" is empty; leave it out of features.')
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise PencilError(
            f'the column "{name}" is {values.type}, neither numbers nor texts; turn it into numbers, or leave it out'
            f" (--set data.options.ignore={name})."
        )
    # A missing text is a level of its own: that it is missing may say something.
    plain = np.array(["" if value is None else value for value in values.to_pylist()], dtype=np.str_)
    levels, codes = np.unique(plain, return_inverse=True)
    if len(levels) > _MOST_LEVELS:
        raise PencilError(
            f'the column "{name}" has {len(levels)} different texts; leave it out (--set data.options.ignore={name}).'
        )
    return np.eye(len(levels), dtype=np.bool_)[codes], [f"{name}={level}" for level in levels]
