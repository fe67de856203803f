"""What is compiled of a step trains as it does eagerly: what it writes in place arrives, and arrives once."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from pencil.config import TeachingSettings
from pencil.engine import Engine, stepper
from pencil.engine.average import Average
from pencil.methods.pencil import Pencil
from pencil.table import ExampleTable

PHASES = {"backbone": (1, 0.1), "labels": (2, "0.1 ~> 0.02"), "tuning": (1, "0.02 ~> 0")}
OPTIONS = {"anchor": 0.0, "label_step": "6 -> 0", "init_scale": 1.0}


def _network() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 10))


class _Other(ExampleTable):
    """A table that the compiler leaves alone."""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make steps of whole batches compiled ones, as a captured step has them, without a GPU."""

    def use() -> None:
        def make(self: Any, size: int, make_step: Any, note: Any) -> Callable[[], None]:
            wrap = (lambda f: torch.compile(f, dynamic=False, backend="aot_eager")) if size == self.full_size else None
            step = make_step(wrap)
            return lambda: step(size)

        monkeypatch.setattr(stepper.Steppers, "_make", make)

    return use


@pytest.mark.parametrize(("dense", "taught"), [(True, True), (False, False)])
def test_a_compiled_step_trains_as_an_eager_one(
    dense: bool, taught: bool, digits: Any, engine_of: Any, train: Any, compiled: Callable[[], None]
) -> None:
    def trained() -> tuple[Engine, list[dict[str, Any]]]:
        engine = engine_of(digits(80), Pencil(OPTIONS, 10), PHASES, _network, precision="64-true")
        if not dense:
            engine.state.table = _Other(engine.state.table.columns)
        if taught:
            engine.state.teaching = TeachingSettings(average_epochs=1.0)
            engine.state.average = Average(engine.state.model, 3)
        return engine, train(engine).records

    eager, expected = trained()
    compiled()
    torch._dynamo.reset()
    engine, found = trained()
    assert sum(record["changed"] for record in expected) > 0, "labels move"
    assert found == expected
    for name, value in eager.state.tensors().items():
        torch.testing.assert_close(engine.state.tensors()[name], value, rtol=0, atol=1e-12, msg=name)
