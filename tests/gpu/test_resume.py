"""A run that goes on from a checkpoint on a real GPU: captured anew, with weights in 16 bits too."""

from typing import Any

import numpy as np
import pytest
import torch

from pencil.data import from_arrays
from pencil.engine import Engine, Listener, low
from pencil.run.planning.plan import plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"),
]
KEPT = 4
"""Epochs that the checkpoint has behind it: two of them moved labels."""
SETTINGS = {
    "recipe": "paper/cifar10-symmetric-30",
    # Calm enough that rounding stays rounding.
    "phases": {name: {"epochs": n, "lr": "0.0005"} for name, n in (("backbone", 2), ("labels", 4), ("tuning", 1))},
    "backbone": "preact_resnet32",
    "optimizer": {"batch_size": 64},
    "data": {"held_out": 0.1},
}


class _Keeping(Listener):
    """Keeps the losses, and the checkpoint after some epochs."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.notes: list[str] = []
        self.kept: tuple[Any, Any] = ({}, {})

    def epoch_done(self, record: dict[str, Any]) -> None:
        self.losses.append(record["loss"])

    def checkpoint_due(self, *, phase_end: bool) -> bool:
        return len(self.losses) == KEPT

    def save(self, tensors: Any, meta: Any) -> None:
        self.kept = {name: value.copy() for name, value in tensors.items()}, dict(meta)

    def note(self, line: str) -> None:
        self.notes.append(line)


@pytest.mark.parametrize(("precision", "least"), [("32-true", 1), ("bf16-mixed", 10**12), ("bf16-mixed", 1)])
def test_a_run_goes_on_as_if_it_had_not_stopped(precision: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(low, "LEAST", least)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 1000)
    pictures = rng.integers(0, 60, (1000, 32, 32, 3)) + 19 * labels[:, None, None, None]
    dataset = from_arrays(pictures.astype(np.uint8), np.where(rng.random(1000) < 0.3, labels[::-1], labels))
    planned = plan(dataset, SETTINGS | {"hardware": {"device": "cuda", "precision": precision}})

    def engine() -> Engine:
        torch._dynamo.reset()
        made, _ = build_engine(planned, choose_machine(planned.settings.hardware))
        return made

    whole, expected = engine(), _Keeping()
    whole.train(expected)
    tensors, meta = expected.kept
    resumed, seen = engine(), _Keeping()
    resumed.restore(tensors, meta)
    resumed.train(seen)

    assert resumed.steppers.captured and not expected.notes and not seen.notes
    assert seen.losses == pytest.approx(expected.losses[KEPT:], rel=3e-2)
    for name, start in tensors.items():
        # Momentum that was lost would be missing from the way of the weights, a step of labels from theirs.
        if name == "table.label_logits" or (name.startswith("model.") and name.endswith("weight") and start.ndim > 1):
            ways = [run.state.tensors()[name].cpu().double().numpy() - start for run in (whole, resumed)]
            assert np.linalg.norm(ways[0] - ways[1]) < 0.3 * np.linalg.norm(ways[0]), name
