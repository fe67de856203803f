"""Small engines: a few hundred digits, a small network, everything on the CPU."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch import Tensor, nn

from pencil.config import OptimizerSettings, PhaseSettings, Schedule
from pencil.data import ArrayInputs, Preparation
from pencil.data.transforms.augment import Prepare
from pencil.engine import Engine, ResidentFeed, State, Stopped, StreamingFeed, Watched
from pencil.engine.evaluate import Evaluator
from pencil.methods import Method
from pencil.runtime import PRECISIONS
from pencil.table import ExampleTable
from pencil.types import Phase

CPU = torch.device("cpu")


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Small tensors are faster without threads."""
    torch.set_num_threads(1)


@dataclass
class Data:
    """Digits as rows of float32 in [0, 1], or as uint8 images, with some labels wrong."""

    x: NDArray[Any]
    given: NDArray[np.int64]
    clean: NDArray[np.int64]

    @property
    def preparation(self) -> Preparation:
        if self.x.ndim == 2:
            width = self.x.shape[1]
            return Preparation("rows", (width,), (0.0,) * width, (1.0,) * width)
        return Preparation("images", self.x.shape[1:], (80.0,), (95.0,), crop=8, pad=1, flip=True)


@pytest.fixture(scope="session")
def digits() -> Callable[..., Data]:
    loaded = load_digits()

    def make(n: int, *, images: bool = False, noise: float = 0.3) -> Data:
        rng = np.random.default_rng(0)
        clean = loaded.target[:n].astype(np.int64)
        given = np.where(rng.random(n) < noise, rng.integers(10, size=n), clean)
        if images:
            return Data((loaded.images[:n, ..., None] * 15.9).astype(np.uint8), given, clean)
        return Data((loaded.data[:n] / 16).astype(np.float32), given, clean)

    return make


@dataclass
class Tape:
    """A listener that keeps everything, and stops after so many steps."""

    stop_after: int | None = None
    steps: int = 0
    records: list[dict[str, Any]] = field(default_factory=list)
    saved: list[tuple[dict[str, NDArray[Any]], dict[str, Any]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    phase_ends: list[bool] = field(default_factory=list)
    lengths: list[list[int]] = field(default_factory=list)

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.steps += 1

    def epoch_done(self, record: dict[str, Any]) -> None:
        self.records.append({k: v for k, v in record.items() if k not in ("seconds", "images_per_second")})

    def replanned(self, phases: tuple[Phase, ...]) -> None:
        self.lengths.append([phase.epochs for phase in phases])

    def checkpoint_due(self, *, phase_end: bool) -> bool:
        self.phase_ends.append(phase_end)
        return False

    def save(self, tensors: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
        self.saved.append(({k: np.array(v) for k, v in tensors.items()}, dict(meta)))

    def stop_requested(self) -> bool:
        return self.stop_after is not None and self.steps >= self.stop_after

    def note(self, line: str) -> None:
        self.notes.append(line)


@pytest.fixture
def tape() -> type[Tape]:
    return Tape


@dataclass
class Recording:
    """A feed that remembers which examples each step of each epoch was for."""

    inner: Any
    epochs: list[list[Tensor]] = field(default_factory=list)

    def start_epoch(self, batches: Sequence[Tensor]) -> None:
        self.epochs.append(list(batches))
        self.inner.start_epoch(batches)

    def stage(self) -> None:
        self.inner.stage()

    def raw(self, index_B: Tensor) -> Tensor:
        raw: Tensor = self.inner.raw(index_B)
        return raw


def make_phases(lengths: Mapping[str, tuple[int, Any]]) -> dict[str, PhaseSettings]:
    return {name: PhaseSettings(epochs=e, lr=Schedule.parse(lr)) for name, (e, lr) in lengths.items()}


@pytest.fixture
def engine_of() -> Callable[..., Engine]:
    def build(
        data: Data,
        method: Method,
        phases: Mapping[str, tuple[int, Any]],
        network: Callable[[], nn.Module],
        *,
        batch: int = 32,
        precision: str = "32-true",
        optimizer: OptimizerSettings | None = None,
        seed: int = 0,
        streaming: bool = False,
        workers: int = 0,
        watch: Data | None = None,
        **table: Tensor,
    ) -> Engine:
        precise = PRECISIONS[precision]
        torch.manual_seed(11)
        model = network().to(precise.dtype)
        inputs, prepare = ArrayInputs(data.x), Prepare(data.preparation, seed)
        rows = ExampleTable.start(
            torch.from_numpy(data.given),
            method.num_classes,
            scale=method.label_scale,
            clean_N=torch.from_numpy(data.clean),
            dtype=precise.dtype,
            **table,
        )
        n = len(data.given)
        state = State(model, method, rows, optimizer or OptimizerSettings(), CPU, -(-n // batch))
        feed = StreamingFeed(inputs, CPU, batch, workers) if streaming else ResidentFeed(inputs, CPU)
        watched = {}
        if watch is not None:
            evaluator = Evaluator(ArrayInputs(watch.x), prepare, precise, CPU, resident=True)
            watched["test"] = Watched(evaluator, torch.from_numpy(watch.given))
        return Engine(
            state=state,
            phases=method.phases(make_phases(phases)),
            feed=Recording(feed),
            prepare=prepare,
            precision=precise,
            batch_size=batch,
            seed=seed,
            new_network=network,
            train_evaluator=Evaluator(inputs, prepare, precise, CPU, resident=True),
            watched=watched,
        )

    return build


@pytest.fixture
def train(tape: type[Tape]) -> Callable[..., Tape]:
    def run(engine: Engine, *, stop_after: int | None = None) -> Tape:
        listener = tape(stop_after)
        try:
            engine.train(listener)
        except Stopped:
            assert listener.saved, "a stop leaves a checkpoint"
        return listener

    return run


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 10))


def forgetful() -> nn.Module:
    """Random numbers in training (dropout) and running statistics (batch norm): the hard case for a resume."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 10)
    )


@pytest.fixture
def networks() -> dict[str, Callable[[], nn.Module]]:
    return {"perceptron": perceptron, "forgetful": forgetful}
