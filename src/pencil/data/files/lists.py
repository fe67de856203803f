"""Reads the plain lists that datasets ship with: a word a line, or a key and a value."""

from __future__ import annotations

from pathlib import Path

from pencil.errors import PencilError


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file that are not empty."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError as error:
        raise PencilError(f"{path} is missing; give the folder of the whole dataset.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PencilError(f"{path} cannot be read as text ({error}); unpack the dataset again.") from error
    return [line.strip() for line in lines if line.strip()]


def read_pairs(path: Path) -> dict[str, str]:
    """Return "key value" lines as a dictionary, in the order of the file."""
    pairs: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        key, _, value = line.partition(" ")
        if not value:
            raise PencilError(f'{path}, line {number} is "{line}"; it should be a key, a space and a value.')
        pairs[key] = value.strip()
    return pairs


def read_numbers(path: Path, classes: int, *, first: int = 0) -> dict[str, int]:
    """Return "key class" lines, with the classes counted from 0."""
    numbers: dict[str, int] = {}
    for key, value in read_pairs(path).items():
        if not value.isdigit() or not first <= int(value) < first + classes:
            raise PencilError(f'{path}: "{key}" has the class {value}; give {first} to {first + classes - 1}.')
        numbers[key] = int(value) - first
    return numbers
