"""preprocessing.json, read back: what a run writes is read, what it never writes is refused."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pencil
from pencil.data import Preparation
from pencil.errors import PencilError
from pencil.results.folder import RunFolder
from pencil.results.seal import seal
from pencil.run.planning.preparation import read_preparation
from pencil.run.train import Interrupted

from ..test_from import Stopping

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
     ("least", [0.0]), ("reach", [1, 1, "far"]), ("crop", -1), ("crop", 10**9), ("crop", 2.5), ("pad", True),
     ("flip", "yes")],
)  # fmt: skip
def test_what_no_run_writes_is_refused(tmp_path: Path, field: str, value: object) -> None:
    with pytest.raises(PencilError, match=rf"preprocessing.json is damaged .its {field} cannot be that"):
        read(tmp_path, GOOD | {field: value})


def test_a_network_sees_data_on_the_scale_it_learned(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = np.exp(2 * rng.normal(size=(60, 2))).astype(np.float32), np.arange(60) % 2
    x[:2] = 1e20
    how: dict[str, Any] = {"settings": {"hardware": {"device": "cpu", "threads": 1}}, "epochs": (1, 1, 1)}
    first = pencil.fit(x, y, out=tmp_path / "first", **how)
    scale = read_preparation(RunFolder(first.folder))
    assert min(scale.least) > 0 and min(scale.reach) > 0
    then = pencil.fit(x[:40], y[:40], out=tmp_path / "then", start_from=first.folder, **how)
    assert read_preparation(RunFolder(then.folder)) == scale


def test_a_run_of_a_version_that_took_no_logarithms_goes_on_without(tmp_path: Path) -> None:
    x, y = np.exp(2 * np.random.default_rng(0).normal(size=(60, 2))).astype(np.float32), np.arange(60) % 2
    settings, run = {"hardware": {"device": "cpu", "threads": 1}}, tmp_path / "run"
    with pytest.raises(Interrupted):
        pencil.fit(x, y, out=run, settings=settings, epochs=(1, 1, 1), progress=Stopping(1))
    fields = json.loads((run / "preprocessing.json").read_text())
    assert min(fields.pop("least")) > 0
    (run / "preprocessing.json").write_text(json.dumps(fields))
    seal(run, [run / "preprocessing.json"])
    pencil.fit(x, y, out=run, resume=True)
    assert read_preparation(RunFolder(run)).least == ()
