"""A few hundred digits, a small network, and engines made from plans."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from pencil import data
from pencil.config import HardwareSettings
from pencil.data import Dataset
from pencil.engine import Engine, Stopped
from pencil.run.planning.plan import Plan, plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine
from pencil.types import Batch

CPU = HardwareSettings(device="cpu", threads=1)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def digits() -> Callable[..., Dataset]:
    """Make digits with clean labels; noise is injected by the plan."""

    def make(n: int = 200, *, trusted: Any = None) -> Dataset:
        loaded = load_digits()
        x, y = (loaded.data[:n] / 16).astype(np.float32), loaded.target[:n]
        return data.from_arrays(x, y, class_names=[str(k) for k in range(10)], trusted=trusted, test=(x[:50], y[:50]))

    return make


@pytest.fixture
def planned() -> Callable[..., Plan]:
    def make(source: Dataset, method: str, epochs: list[int], **settings: Any) -> Plan:
        asked = {
            "method": method,
            "backbone": "mlp",
            "backbone_options": {"hidden": 24, "depth": 1},
            "optimizer": {"batch_size": 50},
            "hardware": {"device": "cpu", "threads": 1},
            "data": {"held_out": 0.0},
            **settings,
        }
        return plan(source, asked, epochs=epochs)

    return make


class Tape:
    """Keeps the records and the checkpoint of a stop; calls back after each epoch."""

    def __init__(self, stop_after: int | None = None, each: Callable[[], None] | None = None) -> None:
        self.stop_after, self.each, self.steps = stop_after, each, 0
        self.records: list[dict[str, Any]] = []
        self.saved: Any = None

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.steps += 1

    def epoch_done(self, record: dict[str, Any]) -> None:
        self.records.append({k: v for k, v in record.items() if k not in ("seconds", "images_per_second")})
        if self.each:
            self.each()

    def checkpoint_due(self, *, phase_end: bool) -> bool:
        return False

    def save(self, tensors: Any, meta: Any) -> None:
        self.saved = {k: np.array(v) for k, v in tensors.items()}, dict(meta)

    def stop_requested(self) -> bool:
        return self.stop_after is not None and self.steps >= self.stop_after

    def note(self, line: str) -> None:
        raise AssertionError(line)


@pytest.fixture
def engine_of() -> Callable[[Plan], Engine]:
    return lambda planned: build_engine(planned, choose_machine(CPU))[0]


@pytest.fixture
def train() -> Callable[..., Tape]:
    def run(engine: Engine, **tape: Any) -> Tape:
        listener = Tape(**tape)
        try:
            engine.train(listener)
        except Stopped:
            assert listener.saved
        return listener

    return run


B, C = 6, 4
RNG = np.random.default_rng(0)


@pytest.fixture(scope="session")
def batch() -> Batch:
    """Six examples of four classes with random logits, in double precision."""
    return Batch(
        logits=torch.from_numpy(RNG.normal(size=(B, C))),
        label_logits=torch.from_numpy(RNG.normal(size=(B, C))),
        given=torch.eye(C, dtype=torch.float64)[[0, 1, 2, 3, 0, 1]],
        labelled=torch.ones(B, dtype=torch.bool),
        anchor=torch.ones(B, dtype=torch.float64),
        weight=torch.ones(B, dtype=torch.float64),
        phase="training",
        trusted=torch.tensor([True, False, False, False, True, False]),
    )


@pytest.fixture
def cost(batch: Batch) -> Callable[..., Any]:
    """Return the summed parts of a method's loss on the batch."""

    def of(method: Any, phase: str = "training") -> Any:
        terms = method.double().loss(replace(batch, phase=phase))
        return terms.scale * sum(terms.parts.values())

    return of
