"""Columns as a CSV or Parquet file, written whole or not at all."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pencil.errors import PencilError

SUFFIXES = (".csv", ".parquet")


def check_out(out: Path | None) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if out is None:
        return
    if out.suffix.lower() not in SUFFIXES:
        raise PencilError(f"--out is {out}; give a file that ends in .csv or .parquet.")
    if out.exists():
        raise PencilError(f"{out} already exists; choose another --out.")
    if not out.parent.is_dir():
        raise PencilError(f"{out.parent} does not exist; make it first, or choose another --out.")


def write_columns(columns: Mapping[str, Any], out: Path) -> None:
    """Write columns (lists or Arrow columns) in the format that the file's name asks for."""
    from pencil.results.atomic import write_atomic

    if out.suffix.lower() == ".csv":
        text = io.StringIO(newline="")
        write_csv({name: _plain(values) for name, values in columns.items()}, text)
        write_atomic(out, text.getvalue().encode())
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_atomic(out, lambda path: pq.write_table(pa.table(dict(columns)), path))


def write_csv(columns: Mapping[str, list[Any]], stream: Any) -> None:
    """Write a header and a line for each row."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))


def _plain(values: Any) -> list[Any]:
    return values if isinstance(values, list) else values.to_pylist()
