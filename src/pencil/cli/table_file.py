"""A table that a command gives: into a CSV or Parquet file, or to stdout."""

import json
import sys
from pathlib import Path
from typing import Any

import typer

from pencil.errors import PencilError
from pencil.results.columns_file import write_columns, write_csv
from pencil.results.new_place import refuse_taken

SUFFIXES = (".csv", ".parquet")


def check_out(out: Path | None) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if out is None:
        return
    if out.suffix.lower() not in SUFFIXES:
        raise PencilError(f"--out is {out}; give a file that ends in .csv or .parquet.")
    refuse_taken(out)


def write_table(columns: dict[str, list[Any]], out: Path | None, *, as_json: bool) -> None:
    """Write columns to a file, or to stdout as CSV; as a JSON list to stdout where that is asked for."""
    if out is not None:
        write_columns(columns, out)
    elif not as_json:
        write_csv(columns, sys.stdout)
    if as_json:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
