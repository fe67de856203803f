"""Reads tables, in CSV and Parquet files or in memory, as Arrow holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from pencil.data.files.claims import refuse_bomb
from pencil.data.tables.class_columns import spelled_out
from pencil.data.tables.columns import column
from pencil.data.tables.frames import Frame
from pencil.data.tables.label_cells import as_labels
from pencil.errors import PencilError

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
