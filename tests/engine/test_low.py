"""Weights in 16 bits for the passes: training is the same but for rounding, and the copies never fall behind."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pencil.config import OptimizerSettings, TeachingSettings
from pencil.engine import Engine, capture, low, stepper
from pencil.engine.average import Average
from pencil.engine.guard import Guard
from pencil.engine.low import LowWeights, Moving, descend, look, lowered
from pencil.engine.step import Step
from pencil.kernels import largest
from pencil.methods import create
from pencil.methods.pencil import Pencil
from pencil.runtime import PRECISIONS

PHASES = {"backbone": (1, 0.1), "labels": (2, "0.1 ~> 0.02"), "tuning": (1, "0.02 ~> 0")}
OPTIONS = {"anchor": 0.0, "label_step": "6 -> 0", "init_scale": 1.0}
BF16 = PRECISIONS["bf16-mixed"]
CPU = torch.device("cpu")


def _magnitudes(groups: list[Moving]) -> Tensor:
    return largest([gradient for group in groups for gradient in group.gradients])


def _network() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 10))


class _Replayed:
    """A captured step without a GPU: one warm-up that leaves no trace, then the step itself."""

    def __init__(self, step: Step, size: int, changing: list[Tensor]) -> None:
        self.step, self.size = step, size
        before = [tensor.clone() for tensor in changing]
        try:
            step(size)
        finally:
            capture._restore(changing, before)

    def __call__(self) -> None:
        if self.step.low is not None:
            _agrees(self.step.low)
        self.step(self.size)
        if self.step.low is not None:
            _agrees(self.step.low)


def _agrees(weights: LowWeights) -> None:
    for weight, copy in weights.copies.items():
        assert torch.equal(weight.detach().bfloat16(), copy.detach())
        assert copy.grad is None and weight.grad is None


Build = Callable[..., Engine]


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, engine_of: Any) -> Iterator[Build]:
    """Make engines whose steps of whole batches are compiled and replayed, with weights in 16 bits or without."""
    monkeypatch.setattr(stepper, "CapturedStep", _Replayed)
    monkeypatch.setattr(stepper, "_compile", lambda f: torch.compile(f, dynamic=False, backend="aot_eager"))
    monkeypatch.setattr(low, "DEVICES", ("cpu",))
    torch._dynamo.reset()

    def make(*arguments: Any, lowers: bool = True, **options: Any) -> Engine:
        monkeypatch.setattr(low, "LEAST", 1 if lowers else 10**9)
        engine: Engine = engine_of(*arguments, precision="bf16-mixed", **options)
        engine.steppers.captured = True
        return engine

    yield make
    torch._dynamo.reset()


@pytest.mark.parametrize("taught", [False, True])
def test_it_trains_as_with_weights_in_32_bits(taught: bool, digits: Any, build: Build, train: Any) -> None:
    def trained(*, lowers: bool, nudged: bool = False) -> tuple[Engine, list[float]]:
        engine = build(digits(80), Pencil(OPTIONS, 10), PHASES, _network, lowers=lowers)
        if nudged:
            for parameter in engine.state.model.parameters():
                parameter.data.mul_(1 + 2**-23)
        if taught:
            engine.state.teaching = TeachingSettings(average_epochs=1.0)
            engine.state.average = Average(engine.state.model, 3)
        tape = train(engine)
        assert not tape.notes
        assert (engine.steppers.low is not None) == lowers
        return engine, [record["loss"] for record in tape.records]

    # How far runs part that differ in the last bit of their first weights says what rounding does over these steps.
    (plain, losses), (other, theirs), (ours, found) = (
        trained(lowers=False), trained(lowers=False, nudged=True), trained(lowers=True),
    )  # fmt: skip
    rounding = max(_distances(plain, other))
    assert 0 < rounding < 1e-2
    # A weight that is rounded to the other neighbour in 16 bits moves a layer by about 1e-4 of its size.
    assert max(_distances(plain, ours)) <= 3 * rounding + 1e-3
    parted = max(abs(a - b) for a, b in zip(losses, theirs, strict=True))
    assert max(abs(a - b) for a, b in zip(losses, found, strict=True)) <= 3 * parted + 1e-3


def _distances(one: Engine, other: Engine) -> list[float]:
    """How far the parameters of two engines lie apart, as a share of their size."""
    pairs = zip(one.state.model.parameters(), other.state.model.parameters(), strict=True)
    return [float(((a - b).norm() / a.norm()).detach()) for a, b in pairs]


def test_a_gradient_that_is_not_finite_changes_neither_weights_nor_copies(
    digits: Any, build: Build, train: Any
) -> None:
    data = digits(48, noise=0.0)
    data.x[7, 0] = np.inf  # Spoils its row's outputs, and through the first layer's input the whole gradient.
    engine = build(
        data,
        create("pencil", {"anchor": 0.5, "label_step": "2"}, 10),
        {"backbone": (0, "0"), "labels": (1, "0.1"), "tuning": (0, "0")},
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 10)),
        batch=48,
        optimizer=OptimizerSettings(nonfinite_limit=1.0),
    )
    for buffers in engine.state.optimizer.state.values():
        buffers["momentum_buffer"].fill_(0.5)
    start = {k: np.array(v) for k, v in engine.state.export().items()}
    record = train(engine).records[0]
    end = engine.state.export()
    assert engine.steppers.low is not None
    _agrees(engine.steppers.low)
    for name in start:
        if name.startswith(("model.", "optimizer.")):
            assert np.array_equal(start[name], end[name]), name
    assert (record["nonfinite"], record["skipped"]) == (1, 1)
    moved = (end["table.label_logits"] != start["table.label_logits"]).any(-1)
    assert moved.tolist() == [i != 7 for i in range(48)], "the labels of the other rows still learn"


@pytest.mark.parametrize("stop_after", [1, 6])
def test_a_resumed_run_ends_as_one_that_was_not_stopped(stop_after: int, digits: Any, build: Build, train: Any) -> None:
    def engine() -> Engine:
        return build(digits(80), Pencil(OPTIONS, 10), PHASES, _network)

    whole, stopped, resumed = engine(), engine(), engine()
    train(whole)
    resumed.restore(*train(stopped, stop_after=stop_after).saved[0])
    train(resumed)
    assert resumed.steppers.low is not None
    for name, value in whole.state.tensors().items():
        assert torch.equal(resumed.state.tensors()[name], value), name


def test_copies_follow_where_labels_and_network_go_back(
    digits: Any, build: Build, train: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = build(digits(80), Pencil(OPTIONS, 10), {**PHASES, "labels": (3, 0.1)}, _network)
    engine.state.guard = Guard(engine.state.learning())
    monkeypatch.setattr(Guard, "judge", lambda *_: "that")
    records = train(engine).records  # Every replayed step looks whether its copies agree.
    assert any(record.get("went_back") for record in records)
    assert engine.steppers.low is not None


def test_copies_follow_new_networks_and_best_ones(digits: Any, build: Build, train: Any) -> None:
    joint = create("joint_optimization", {}, 10)
    engine = build(digits(80), joint, {name: (1, 0.1) for name in joint.phase_names}, _network)
    assert any(phase.fresh_network for phase in engine.phases)
    train(engine)
    assert engine.steppers.low is not None
    engine.state.renew_network(_network().state_dict())
    engine.steppers.refresh()
    _agrees(engine.steppers.low)


def test_only_weights_of_convolutions_and_linear_layers_are_copied() -> None:
    class Odd(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * self.weight.std()

    first, tied = nn.Linear(8, 8), nn.Linear(8, 8, bias=False)
    tied.weight = first.weight
    looked_up, same = nn.Embedding(8, 8), nn.Linear(8, 8)
    same.weight = looked_up.weight
    conv = nn.Conv2d(8, 8, 3).to(memory_format=torch.channels_last)
    frozen = nn.Linear(8, 8, bias=False).requires_grad_(False)
    norm = nn.BatchNorm2d(8).eval()
    # Its hook makes the weight from a parameter, before every pass.
    hooked = nn.utils.spectral_norm(nn.Linear(8, 8))
    model = nn.ModuleList([first, tied, looked_up, same, conv, frozen, norm, hooked, Odd(8, 8)])
    weights = LowWeights(model)
    assert set(weights.copies) == {*first.parameters(), same.bias, *conv.parameters(), frozen.weight}
    low_first, low_tied, low_looked_up, low_same, low_conv, low_frozen, low_norm, low_hooked, low_odd = weights.network
    assert low_first.weight is low_tied.weight is weights.copies[first.weight]
    assert low_first.weight.dtype == torch.bfloat16 and low_first.weight.is_leaf and low_first.weight.requires_grad
    assert low_conv.weight.is_contiguous(memory_format=torch.channels_last) and not low_frozen.weight.requires_grad
    assert low_same.weight is low_looked_up.weight is looked_up.weight
    assert low_norm.weight is norm.weight and low_norm.running_mean is norm.running_mean
    assert low_odd.weight is model[-1].weight and low_hooked.weight_orig is hooked.weight_orig
    assert not low_norm.training and low_first.training
    norm.train()
    weights.refresh()
    assert low_norm.training


def test_nothing_changes_where_nothing_is_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Linear(2000, 2000)
    assert sum(p.numel() for p in model.parameters()) > low.LEAST
    assert lowered(model, BF16, CPU) is None
    monkeypatch.setattr(low, "DEVICES", ("cpu",))
    assert lowered(model, BF16, CPU) is not None
    assert lowered(nn.Linear(1998, 2000), BF16, CPU) is None
    assert lowered(model, PRECISIONS["32-true"], CPU) is None
    assert lowered(model.double(), PRECISIONS["64-true"], CPU) is None


def test_batches_in_parts_are_learned_with_weights_in_32_bits(digits: Any, build: Build, train: Any) -> None:
    engine = build(digits(64), Pencil(OPTIONS, 10), PHASES, _network)
    engine.state.micro_batch = 16
    assert not train(engine).notes
    assert engine.steppers.low is None


class _Wide(nn.Module):
    """A network that leaves mixed precision for its last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(64, 24), nn.Linear(24, 10)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.body(x).relu()
        with torch.autocast("cpu", enabled=False):
            out: Tensor = self.head(hidden.float())
        return out


def test_a_network_that_needs_32_bits_keeps_them_and_is_compiled_all_the_same(
    digits: Any, build: Build, train: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stepper, "_compile_network", lambda _: pytest.fail("only the network was compiled"))
    tape, expected = (
        train(build(digits(64), Pencil(OPTIONS, 10), PHASES, _Wide, lowers=lowers)) for lowers in (True, False)
    )
    assert len(tape.notes) == 1 and "cannot be captured with weights in 16 bits" in tape.notes[0]
    assert tape.records == expected.records and not expected.notes


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize(
    ("momentum", "nesterov", "weight_decay"), [(0.9, False, 1e-2), (0.9, True, 1e-2), (0.0, False, 0.0)]
)
def test_the_update_is_that_of_torch(backend: str, momentum: float, nesterov: bool, weight_decay: float) -> None:
    if backend == "inductor" and not shutil.which("g++"):
        pytest.skip("no C++ compiler here")
    torch.manual_seed(0)
    shapes, count, rate = [(8, 4, 3, 3), (16, 8), (16,), (5,), ()], 8, torch.tensor(0.3)
    weights = [nn.Parameter(torch.randn(shape)) for shape in shapes]
    expected = [nn.Parameter(weight.detach().clone()) for weight in weights]
    numbers = {"momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}
    optimizer = torch.optim.SGD(expected, lr=0.3, **numbers)
    copies = [weight.detach().bfloat16() for weight in weights[:2]]
    momenta = [torch.zeros_like(weight) for weight in weights] if momentum else []
    torch._dynamo.reset()
    seen, compiled = (torch.compile(function, dynamic=False, backend=backend) for function in (look, descend))
    found = torch.zeros(1)
    for step in range(4):
        gradients = [torch.randn(shape) * count for shape in shapes]
        gradients[:2] = [gradient.bfloat16() for gradient in gradients[:2]]
        if step == 2:
            gradients[1][3, 3] = torch.inf
        groups = [
            Moving([w.detach() for w in weights[part]], gradients[part], momenta[part], copies[part])
            for part in (slice(0, 2), slice(2, 5))
        ]
        with torch.no_grad():
            seen(_magnitudes(groups), found)
            compiled(groups, torch.tensor([float(count)]), rate, found, **numbers)
        assert found.item() == (step == 2)
        if step != 2:
            for weight, gradient in zip(expected, gradients, strict=True):
                weight.grad = gradient.float() / count
            optimizer.step()
        for weight, right in zip(weights, expected, strict=True):
            torch.testing.assert_close(weight, right, rtol=1e-6, atol=1e-6)
        assert all(torch.equal(copy, weight.detach().bfloat16()) for copy, weight in zip(copies, weights, strict=False))
