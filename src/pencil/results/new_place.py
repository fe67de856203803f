"""A place for something new: nothing is there yet, and the folder around it is."""

from pathlib import Path

from pencil.errors import PencilError


def refuse_taken(out: Path) -> None:
    """Refuse a place where something lies already, or that is in no folder."""
    if out.exists() or out.is_symlink():
        raise PencilError(f"{out} already exists; choose another --out.")
    if not out.parent.is_dir():
        raise PencilError(f"{out.parent} does not exist; make it first, or choose another --out.")
