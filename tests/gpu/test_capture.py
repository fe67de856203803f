"""The captured step on a real GPU: the same training as the eager one, for every method, over several epochs."""

import gc
from typing import Any

import numpy as np
import pytest
import torch

import pencil
from pencil import plugins
from pencil.data import Dataset, from_arrays
from pencil.engine import Engine
from pencil.run.planning.plan import plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"),
]
METHODS = [name for name in plugins.names("pencil.methods") if name not in ("forward", "backward", "cnn_crf")]


@pytest.fixture(scope="module")
def images() -> Dataset:
    """A short last batch in every epoch, and classes that can be learned."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 1000)
    pictures = rng.integers(0, 60, (1000, 16, 16, 3)) + 19 * labels[:, None, None, None]
    noisy = np.where(rng.random(1000) < 0.3, rng.integers(0, 10, 1000), labels)
    return from_arrays(pictures.astype(np.uint8), noisy, clean=labels)


class Losses:
    """Collects the loss of each epoch, and spoils freed memory in between."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.notes: list[str] = []

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """Nothing to see."""

    def epoch_done(self, record: dict[str, Any]) -> None:
        self.losses.append(record["loss"])
        # Whatever a graph reads without owning it is overwritten here.
        gc.collect()
        torch.cuda.synchronize()
        rubbish = [
            torch.full((size,), float("nan"), device="cuda") for size in (1, 8, 128, 4096, 2**20) for _ in range(50)
        ]
        del rubbish

    def checkpoint_due(self, *, phase_end: bool) -> bool:
        return False

    def save(self, tensors: Any, meta: Any) -> None:
        """Nothing to keep."""

    def stop_requested(self) -> bool:
        return False

    def note(self, line: str) -> None:
        self.notes.append(line)


def _train(dataset: Dataset, *, compile: bool, precision: str, **hardware: str) -> tuple[Engine, Losses]:
    settings = {
        # Calm enough that rounding stays rounding: at the default rates two eager runs part by a tenth within epochs.
        "recipe": "paper/cifar10-symmetric-30",
        "phases": {name: {"epochs": n, "lr": "0.0005"} for name, n in (("backbone", 5), ("labels", 6), ("tuning", 4))},
        "backbone": "small_cnn",
        "optimizer": {"batch_size": 64},
        "hardware": {"device": "cuda", "compile": compile, "precision": precision, **hardware},
        "data": {"held_out": 0.1},
    }
    planned = plan(dataset, settings)
    engine, _ = build_engine(planned, choose_machine(planned.settings.hardware))
    listener = Losses()
    engine.train(listener)
    return engine, listener


@pytest.mark.parametrize(("precision", "tolerance"), [("32-true", 1e-2), ("bf16-mixed", 5e-2)])
def test_captured_and_eager_training_agree_over_two_hundred_steps(
    images: Dataset, precision: str, tolerance: float
) -> None:
    captured, seen = _train(images, compile=True, precision=precision)
    eager, expected = _train(images, compile=False, precision=precision)
    assert captured.steppers.captured, seen.notes
    assert not seen.notes
    assert len(seen.losses) * 15 >= 200
    assert seen.losses == pytest.approx(expected.losses, rel=tolerance, abs=tolerance)
    same = captured.state.table.distributions().argmax(-1) == eager.state.table.distributions().argmax(-1)
    assert same.float().mean() > 0.97


def test_streamed_inputs_give_the_captured_step_the_same_images(images: Dataset) -> None:
    _, resident = _train(images, compile=True, precision="32-true", resident="yes")
    _, streamed = _train(images, compile=True, precision="32-true", resident="no")
    assert not streamed.notes
    assert streamed.losses == pytest.approx(resident.losses, rel=1e-2, abs=1e-2)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_captured(method: str) -> None:
    class Notes:
        def __init__(self) -> None:
            self.lines: list[str] = []

        def __getattr__(self, name: str) -> Any:
            return (lambda line: self.lines.append(line)) if name == "note" else (lambda *a, **k: None)

    notes = Notes()
    result = pencil.fit("digits", noise="symmetric:0.3", method=method, device="cuda", progress=notes)  # type: ignore[arg-type]
    assert not [line for line in notes.lines if "captured" in line or "eagerly" in line]
    assert result.summary["test_accuracy"]["last"] > 80
