"""Rows that lack cells, and values far from all others, on a real GPU: captured and eager steps see them alike."""

from typing import Any

import numpy as np
import pytest
import torch

import pencil
from pencil.engine.events import Listener
from pencil.run.planning.plan import plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"),
]


CLEAN = {"clean": "clean"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Classes apart in every column, a tenth of the cells empty, and a few a million times too large."""
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 4, 1200)
    table = rng.normal(size=(4, 12))[clean] * 2 + rng.normal(size=(1200, 12))
    table[rng.random(table.shape) < 0.1] = np.nan
    table[rng.integers(0, 1200, 8), rng.integers(0, 12, 8)] = 1e6
    noisy = np.where(rng.random(1200) < 0.3, rng.integers(0, 4, 1200), clean)
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    with path.open("w", encoding="utf-8") as file:
        print(*(f"x{i}" for i in range(12)), "label", "clean", sep=",", file=file)
        for row, *labels in zip(table, noisy, clean, strict=True):
            print(*("" if np.isnan(value) else value for value in row), *labels, sep=",", file=file)
    return str(path)


class Notes(Listener):
    """Keeps the losses and what a run says."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.lines: list[str] = []

    def epoch_done(self, record: dict[str, Any]) -> None:
        self.losses.append(record["loss"])

    def note(self, line: str) -> None:
        self.lines.append(line)


def _losses(rows: str, *, compile: bool) -> list[float]:
    planned = plan(
        rows, {"data": {"options": CLEAN}, "hardware": {"device": "cuda", "compile": compile, "precision": "32-true"}}
    )
    engine, _ = build_engine(planned, choose_machine(planned.settings.hardware))
    notes = Notes()
    engine.train(notes)
    assert engine.steppers.captured == compile, notes.lines
    return notes.losses


def test_the_captured_step_sees_them_as_the_eager_one_does(rows: str) -> None:
    captured, eager = _losses(rows, compile=True), _losses(rows, compile=False)
    assert np.isfinite(captured).all()
    assert captured[:20] == pytest.approx(eager[:20], rel=2e-2, abs=2e-2)


def test_labels_are_corrected(rows: str) -> None:
    result = pencil.fit(rows, device="cuda", settings={"data": {"options": CLEAN}})
    right = result.summary["label_accuracy"]
    assert right["corrected"] > right["given"] + 10
