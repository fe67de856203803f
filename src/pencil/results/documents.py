"""Small JSON files with a stable layout: classes.json, preprocessing.json, split.json and the like."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pencil.errors import PencilError
from pencil.results.atomic import write_atomic

MOST_BYTES = 2**28
"""Of a small file; a larger one is none of ours."""
UPGRADE = "upgrade with pip install . in a newer copy of its repository."
"""What to do about files of a newer version; no package index has it."""
UNREADABLE = (OSError, ValueError, RecursionError)
"""What a file that is no JSON comes to; the last where it opens more brackets than anybody would."""


def plain(value: Any) -> Any:
    """Return the value in JSON's own types; numbers that JSON cannot hold (NaN, infinity) become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON with sorted keys, so that equal values give equal files."""
    text = json.dumps(plain(value), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_atomic(path, f"{text}\n".encode())


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise damaged(path, f"it has more than {MOST_BYTES:,} bytes")
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise missing(path) from None
    except UNREADABLE as error:
        raise damaged(path, error) from error


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds one object."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise damaged(path, "it holds no JSON object")
    return value


def write_classes(path: Path, names: Sequence[str]) -> None:
    """Write classes.json: the classes' names, in the order of their numbers."""
    write_json(path, list(names))


def read_classes(path: Path) -> tuple[str, ...]:
    """Read classes.json."""
    names = read_json(path)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise damaged(path, "it holds no list of names")
    return tuple(names)


def write_split(
    path: Path,
    *,
    train: int,
    held_out: int,
    test: int,
    fingerprint: str,
    inputs: str,
    seed: int,
    noise: Mapping[str, Any] | None = None,
) -> None:
    """Write split.json: how many examples went where, what it takes to draw the split again, and injected noise."""
    # Ids of every split would be as large as the data; the seed and the fingerprint say the same.
    counts = {"train": train, "held_out": held_out, "test": test}
    injected = {"noise": dict(noise)} if noise else {}
    write_json(path, {**counts, "fingerprint": fingerprint, "inputs": inputs, "seed": seed, **injected})


def missing(path: Path) -> PencilError:
    """Return the error for a file of a run folder that is not there."""
    return PencilError(f"{path} does not exist: the run has not come that far, or the file was removed.")


def damaged(path: Path, reason: object) -> PencilError:
    """Return the error for a file of a run folder that cannot be read."""
    line = " ".join(str(reason).split())
    return PencilError(f"{path} is damaged ({line}); restore it from a copy or repeat the run.")
