"""Reads a record's file: it may be torn or edited by hand, so every field that a page shows is checked."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pencil.errors import PencilError
from pencil.results.documents import read_object
from pencil.results.summary import GROUPS

Kind = type | tuple[type, ...]
NUMBER = (int, float)
NEEDED: dict[str, Kind] = {
    **dict.fromkeys(("system", "cell", "method", "dataset"), str),
    **dict.fromkeys(("seed", "epochs"), int),
    **dict.fromkeys(("seconds", "images_per_second"), NUMBER),
}
"""What a page shows of every run."""
SOMETIMES: dict[str, Kind] = {
    **dict.fromkeys(("title", "recipe", "backbone", "command"), str),
    **dict.fromkeys(("recipe_version", "num_examples"), int),
    "seconds_compiled": NUMBER,
    **dict.fromkeys(("environment", "options", "phases", "asked", "series"), dict),
}
"""What records of before may not have."""


def read_record(path: Path) -> dict[str, Any]:
    """Read a record; refuse a file that is none."""
    try:
        record = read_object(path)
    except PencilError as error:
        raise _no_record(path, str(error.__cause__ or "it holds no JSON object")) from error
    if lacking := [name for name in NEEDED if name not in record]:
        raise _no_record(path, f"it lacks {', '.join(lacking)}")
    if wrong := _wrong(record):
        raise _no_record(path, f"its {wrong} cannot be that")
    return record


def _no_record(path: Path, reason: str) -> PencilError:
    return PencilError(f"{path} is no record of a run ({reason}); restore it from a copy, or remove it.")


def _wrong(record: Mapping[str, Any]) -> str:
    """Name a field whose value no record has; nothing where all are sound."""
    for name, kind in (NEEDED | SOMETIMES).items():
        if name in record and not _is(record[name], kind):
            return name
    for name, parts in GROUPS.items():
        group = {} if record.get(name) is None else record[name]
        if not isinstance(group, dict):
            return name
        numbers = (group.get(part) for part in parts)
        if not all(_is(number, NUMBER) for number in numbers if number is not None):
            return name
    if not all(_is(length, int) for length in record.get("phases", {}).values()):
        return "phases"
    return "" if "series" not in record or _draws(record) else "series"


def _draws(record: Mapping[str, Any]) -> bool:
    """Say whether there is a curve with a number for each epoch, and all that it is drawn with."""
    curve, phases = record["series"].get("label_accuracy"), record.get("phases", {})
    if not isinstance(curve, list) or len(curve) < sum(phases.values()) or not all(_is(n, NUMBER) for n in curve):
        return False
    return "labels" in phases and "given" in (record.get("label_accuracy") or {}) and "num_examples" in record


def _is(value: object, kind: Kind) -> bool:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return False
    return not isinstance(value, float) or math.isfinite(value)
