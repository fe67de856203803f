"""Weights in 16 bits for the passes, on a real GPU: what is compiled for it does what torch's own update does."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from pencil.data import from_arrays
from pencil.engine import Engine, Listener, low
from pencil.engine.low import Moving, descend, look
from pencil.engine.stepper import _compile
from pencil.kernels import largest
from pencil.run.planning.plan import plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"),
]
SHAPES = [(64, 3, 3, 3), (64, 64, 3, 3), (128, 64, 1, 1), (10, 128), (10,), (64,), (5,), ()]
COPIED = 5


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("momentum", "nesterov", "weight_decay"), [(0.9, False, 1e-2), (0.9, True, 1e-2), (0.0, False, 0.0)]
)
def test_the_compiled_update_is_that_of_torch(momentum: float, nesterov: bool, weight_decay: float, bad: float) -> None:
    torch.manual_seed(0)
    weights = [torch.randn(shape, device="cuda") for shape in SHAPES]
    weights = [w.contiguous(memory_format=torch.channels_last) if w.dim() == 4 else w for w in weights]
    expected = [nn.Parameter(weight.clone()) for weight in weights]
    numbers: dict[str, Any] = {"momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}
    rate, count, found = torch.tensor(0.3, device="cuda"), torch.full((1,), 8.0, device="cuda"), torch.zeros(1).cuda()
    optimizer = torch.optim.SGD(expected, lr=rate, fused=True, **numbers)
    copies = [weight.bfloat16() for weight in weights[:COPIED]]
    momenta = [torch.zeros_like(weight) for weight in weights] if momentum else []
    torch._dynamo.reset()
    seen, update = _compile(look), _compile(descend)
    for step in range(6):
        gradients = [torch.randn_like(weight) * 8 for weight in weights]
        gradients[:COPIED] = [gradient.bfloat16() for gradient in gradients[:COPIED]]
        spoiled = {2: gradients[1], 4: gradients[-3]}.get(step)  # One in 16 bits, then one in 32.
        if spoiled is not None:
            spoiled[-1].fill_(bad)
        parts = (slice(0, COPIED), slice(COPIED, None))
        groups = [Moving(weights[p], gradients[p], momenta[p], copies[p]) for p in parts]
        with torch.no_grad():
            seen(largest([gradient for group in groups for gradient in group.gradients]), found)
            update(groups, count, rate, found, **numbers)
        assert found.item() == (spoiled is not None)
        if spoiled is None:
            for weight, gradient in zip(expected, gradients, strict=True):
                weight.grad = gradient.float() / 8
            optimizer.step()
        for weight, right in zip(weights, expected, strict=True):
            torch.testing.assert_close(weight, right.detach(), rtol=1e-5, atol=1e-5)
        for copy, weight in zip(copies, weights, strict=False):
            assert torch.equal(copy, weight.bfloat16())


class _Looking(Listener):
    """Collects losses, and looks after each step of a whole batch whether the copies agree with the weights."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.losses: list[float] = []
        self.notes: list[str] = []
        self.agreed = 0

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        assert self.engine is not None
        weights = self.engine.steppers.low
        if weights is not None and step < steps:
            assert all(torch.equal(weight.bfloat16(), copy) for weight, copy in weights.copies.items())
            self.agreed += 1

    def epoch_done(self, record: dict[str, Any]) -> None:
        self.losses.append(record["loss"])

    def note(self, line: str) -> None:
        self.notes.append(line)


@pytest.mark.parametrize("backbone", ["small_cnn", "preact_resnet32", "resnet34"])
def test_captured_training_is_the_same_with_weights_in_16_bits(backbone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 1000)
    pictures = rng.integers(0, 60, (1000, 32, 32, 3)) + 19 * labels[:, None, None, None]
    dataset = from_arrays(pictures.astype(np.uint8), np.where(rng.random(1000) < 0.3, labels[::-1], labels))
    settings = {
        "recipe": "paper/cifar10-symmetric-30",
        "phases": {name: {"epochs": 2, "lr": "0.0005"} for name in ("backbone", "labels", "tuning")},
        "backbone": backbone,
        "optimizer": {"batch_size": 64},
        "hardware": {"device": "cuda", "precision": "bf16-mixed"},
        "data": {"held_out": 0.1},
    }

    def trained(least: int) -> _Looking:
        monkeypatch.setattr(low, "LEAST", least)
        torch._dynamo.reset()
        planned = plan(dataset, settings)
        looking = _Looking()
        looking.engine, _ = build_engine(planned, choose_machine(planned.settings.hardware))
        looking.engine.train(looking)
        assert looking.engine.steppers.captured and not looking.notes
        return looking

    ours, theirs = trained(1), trained(10**12)
    assert ours.agreed > 50 and not theirs.agreed
    assert ours.losses == pytest.approx(theirs.losses, rel=5e-2, abs=5e-2)
