"""Names of files and folders made from names of classes and examples: always one plain part of a path."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from pencil.lines import first_of

KEPT = " ._-+()"
"""Signs that stay, beside letters and digits of any script."""
LONGEST = 80
MOST_TOLD = 5
_RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))}


def part(text: str) -> str:
    """Return a text as one part of a path that no system reads in a special way; it never leads anywhere else."""
    plain = "".join(sign if sign.isalnum() or sign in KEPT else "_" for sign in text)[:LONGEST]
    inner = plain.strip(" .")
    # What was cut off at the ends is shown, so that ".hidden" and "hidden" stay apart.
    named = "_" * (len(plain) - len(plain.lstrip(" ."))) + inner if inner else "_" * max(len(plain), 1)
    while len(named.encode()) > 2 * LONGEST:
        named = named[:-1]
    return f"{named}_" if named.split(".")[0].upper() in _RESERVED else named


def class_folders(classes: Sequence[str]) -> list[str]:
    """Return a folder's name for each class, all different on systems that ignore case too."""
    found: list[str] = []
    taken: set[str] = set()
    for number, name in enumerate(classes):
        folder = part(name)
        while folder.casefold() in taken:
            folder = f"{folder}-{number}"
        taken.add(folder.casefold())
        found.append(folder)
    return found


def renamed(classes: Sequence[str]) -> str:
    """Say which classes have folders of other names, if any."""
    others = [(name, folder) for name, folder in zip(classes, class_folders(classes), strict=True) if name != folder]
    listed = first_of([f'"{name}" is in {folder}' for name, folder in others], MOST_TOLD)
    return f"names that not every system takes are changed: {listed}." if others else ""


def file_name(index: int, name: str, suffix: str) -> str:
    """Return an example's file name; its number in labels.parquet in front keeps it apart from all others."""
    return f"{index:07d}_{part(PurePosixPath(name).stem)}{suffix}"
