"""Columns as a CSV or Parquet file, written whole or not at all."""

import csv
import io
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from pencil.results.atomic import write_atomic


def write_columns(columns: Mapping[str, Any], out: Path) -> None:
    """Write columns (lists or Arrow columns) in the format that the file's name asks for."""
    if out.suffix.lower() == ".csv":
        write_atomic(out, csv_text(columns).encode())
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_atomic(out, lambda path: pq.write_table(pa.table(dict(columns)), path))


def csv_text(columns: Mapping[str, Any]) -> str:
    """Return columns (lists or Arrow columns) as CSV."""
    text = io.StringIO(newline="")
    write_csv({name: _plain(values) for name, values in columns.items()}, text)
    return text.getvalue()


def write_csv(columns: Mapping[str, list[Any]], stream: Any) -> None:
    """Write a header and a line for each row."""
    writer, quoting = (csv.writer(stream, lineterminator="\n", quoting=q) for q in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    for row in chain([tuple(columns)], zip(*columns.values(), strict=True)):
        # Before Python 3.13 a carriage return is not quoted by itself, and readers take it for the end of a line.
        (quoting if any(isinstance(cell, str) and "\r" in cell for cell in row) else writer).writerow(row)


def _plain(values: Any) -> list[Any]:
    return values if isinstance(values, list) else values.to_pylist()
