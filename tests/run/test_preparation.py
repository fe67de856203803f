"""preprocessing.json, read back: what a run writes is read, what it never writes is refused."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pencil.data import Preparation
from pencil.errors import PencilError
from pencil.run.preparation import read_preparation

GOOD: dict[str, Any] = {
    "kind": "images", "raw_shape": [8, 8, 3], "mean": [1.0, 2.0, 3.0], "std": [1, 1, 1],
    "crop": 6, "pad": 2, "flip": True,
}  # fmt: skip


def read(tmp_path: Path, fields: dict[str, Any]) -> Preparation:
    file = tmp_path / "preprocessing.json"
    file.write_text(json.dumps(fields))
    return read_preparation(SimpleNamespace(preprocessing=file))  # type: ignore[arg-type]


def test_what_a_run_writes_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD) == Preparation("images", (8, 8, 3), (1.0, 2.0, 3.0), (1, 1, 1), 6, 2, True)
    assert read(tmp_path, {"kind": "rows", "raw_shape": [4], "features": {}}) == Preparation("rows", (4,))


@pytest.mark.parametrize(
    ("field", "value"),
    [("kind", 3), ("kind", "sound"), ("raw_shape", [3]), ("raw_shape", [8, 8, 0]), ("raw_shape", [8, 8, "3"]),
     ("raw_shape", 3), ("raw_shape", [10**6, 10**6, 3]), ("mean", [1.0]), ("mean", 3), ("std", [1, 1, 1e999]),
     ("crop", -1), ("crop", 10**9), ("crop", 2.5), ("pad", True), ("flip", "yes")],
)  # fmt: skip
def test_what_no_run_writes_is_refused(tmp_path: Path, field: str, value: object) -> None:
    with pytest.raises(PencilError, match=rf"preprocessing.json is damaged .its {field} cannot be that"):
        read(tmp_path, GOOD | {field: value})
