"""Checks a CSV or Parquet file that a command is to write."""

from pathlib import Path

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
