"""What every method must do, over every method there is: a new file in `pencil.methods` is tested by being there.

A method that cannot run without options of its own gets an entry in OPTIONS.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor

from pencil import data, methods, plugins
from pencil.config import HardwareSettings
from pencil.data import Dataset
from pencil.engine import Engine, Stopped
from pencil.run.planning.plan import Plan, plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine
from pencil.types import Batch

METHODS = plugins.names("pencil.methods")
KINDS = ("hard", "unlabelled", "soft")
N, C, BATCH = 200, 10, 32
STEPS = -(-N // BATCH)

OPTIONS: dict[str, dict[str, Any]] = {}
EPOCHS = {"forward_estimated": [3, 5]}
"""Epochs of each phase, where a new network has to learn in the last one."""


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@cache
def dataset(kind: str) -> Dataset:
    """Digits with a third of the labels wrong and some known to be right; some without a label, or all soft."""
    loaded, rng = load_digits(), np.random.default_rng(0)
    x, clean = (loaded.data[:N] / 16).astype(np.float32), loaded.target[:N]
    wrong = rng.random(N) < 0.33
    wrong[:10] = False
    given = np.where(wrong, rng.integers(C, size=N), clean)
    trusted = (rng.random(N) < 0.15) & ~wrong
    missing = np.arange(N) % 9 == 4
    labels: Any = given
    if kind == "unlabelled":
        labels = np.where(missing, -1, given)
    if kind == "soft":
        labels = 0.7 * np.eye(C)[given] + 0.3 * rng.dirichlet(np.ones(C), size=N)
        labels[missing] = 0
    made = data.from_arrays(
        x, labels, class_names=[str(k) for k in range(C)], clean=clean, trusted=trusted, test=(x[:50], clean[:50])
    )
    # What is known of injected noise, for methods that are told.
    return replace(made, facts={**made.facts, "transition": (0.67 * np.eye(C) + 0.33 / C).tolist()})


def make(name: str, kind: str) -> tuple[Plan, Engine]:
    phases = methods.kind(name).phase_names
    asked = {
        "method": name,
        "backbone": "mlp",
        "backbone_options": {"hidden": 24, "depth": 1},
        "optimizer": {"batch_size": BATCH},
        "data": {"held_out": 0.0},
        "options": OPTIONS.get(name, {}),
        "hardware": {"device": "cpu", "threads": 1},
    }
    epochs = EPOCHS.get(name, [max(2, 6 // len(phases))] * len(phases))
    planned = plan(dataset(kind), asked, epochs=epochs)
    engine, _ = build_engine(planned, choose_machine(HardwareSettings(device="cpu", threads=1)))
    return planned, engine


class Tape:
    """Keeps the records and the checkpoint of a stop."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after, self.steps, self.records = stop_after, 0, []
        self.saved: Any = None

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.steps += 1

    def epoch_done(self, record: dict[str, Any]) -> None:
        self.records.append({k: v for k, v in record.items() if k not in ("seconds", "images_per_second")})

    def checkpoint_due(self, *, phase_end: bool) -> bool:
        return False

    def save(self, tensors: Any, meta: Any) -> None:
        self.saved = {k: np.array(v) for k, v in tensors.items()}, dict(meta)

    def stop_requested(self) -> bool:
        return self.stop_after is not None and self.steps >= self.stop_after

    def note(self, line: str) -> None:
        raise AssertionError(line)


@cache
def trained(name: str, kind: str) -> tuple[Plan, Engine, list[dict[str, Any]], dict[str, Any]]:
    planned, engine = make(name, kind)
    start = {k: np.array(v) for k, v in engine.state.export().items()}
    tape = Tape()
    engine.train(tape)
    return planned, engine, tape.records, start


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_trains_and_lowers_its_loss(name: str, kind: str) -> None:
    planned, engine, records, _ = trained(name, kind)
    assert len(records) == planned.epochs
    assert all(np.isfinite(record["loss"]) and record["nonfinite"] == 0 for record in records)
    first = [record["loss"] for record in records if record["phase"] == planned.phases[0].name]
    assert first[-1] < first[0]
    assert records[-1]["test_accuracy"] > 30, "far better than the 10% of guessing"
    assert all(parameter.isfinite().all() for parameter in engine.state.model.parameters())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_labels_stay_distributions_and_locked_ones_stay(name: str, kind: str) -> None:
    planned, engine, _, start = trained(name, kind)
    y = engine.state.table.distributions()
    assert y.shape == (N, C) and y.isfinite().all() and (y >= 0).all()
    assert torch.allclose(y.sum(-1), torch.ones(N), atol=1e-5)
    locked = planned.dataset.train.trusted
    assert locked is not None and locked.any()
    logits = engine.state.table.columns["label_logits"].numpy()
    assert np.array_equal(logits[locked], start["table.label_logits"][locked])
    if not any(phase.rule.moves for phase in planned.phases):
        assert np.array_equal(logits, start["table.label_logits"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_resumes_exactly(name: str, kind: str) -> None:
    planned, whole, expected, _ = trained(name, kind)
    first = planned.phases[0].epochs * STEPS
    records, saved = [], None
    # In the first epoch, at the end of the first phase, in the middle of what follows, and on to the end.
    for stop in (2, first - 2, 3, None):
        _, engine = make(name, kind)
        if saved is not None:
            engine.restore(*saved)
        tape = Tape(stop)
        try:
            engine.train(tape)
        except Stopped:
            assert stop is not None
        records += tape.records
        saved = tape.saved or saved
    assert records == expected
    ends = whole.state.export(), engine.state.export()
    assert ends[0].keys() == ends[1].keys()
    for key in ends[0]:
        assert np.array_equal(ends[0][key], ends[1][key]), key


def extreme_batch(phase: str) -> Batch:
    generator = torch.Generator().manual_seed(0)
    scale = torch.tensor([0.0, 1.0, 30.0, 300.0]).repeat(4).unsqueeze(-1)
    given = torch.eye(C)[torch.arange(16) % C]
    given[3] = 0
    return Batch(
        logits=(scale * torch.randn(16, C, generator=generator)).requires_grad_(),
        label_logits=(scale.flip(0) * torch.randn(16, C, generator=generator)).requires_grad_(),
        given=given,
        labelled=given.sum(-1) > 0,
        anchor=torch.ones(16),
        weight=torch.ones(16),
        phase=phase,
        trusted=torch.arange(16) % 5 == 1,
    )


@pytest.mark.parametrize("name", METHODS)
def test_loss_and_both_gradients_are_finite_for_sure_and_unsure_rows(name: str) -> None:
    planned, engine, _, _ = trained(name, "hard")
    for phase in planned.phases:
        batch = extreme_batch(phase.name)
        terms = engine.state.method.loss(batch)
        assert all(part.shape == (16,) and part.isfinite().all() for part in terms.parts.values())
        assert all(term.dim() == 0 for term in terms.whole_batch.values())
        total: Tensor = sum(terms.parts.values(), torch.zeros(16)).sum()
        # A part may leave one of the two alone: fixed labels get no gradient.
        wanted = [batch.logits, batch.label_logits]
        gradients = torch.autograd.grad(total, wanted, allow_unused=True)
        assert gradients[0] is not None, "the network must learn something"
        assert all(gradient.isfinite().all() for gradient in gradients if gradient is not None)
        if phase.rule.uses_gradient:
            assert gradients[1] is not None and gradients[1].abs().max() > 0


@pytest.mark.parametrize("name", METHODS)
def test_the_loss_is_a_function_of_its_rows(name: str) -> None:
    """An example's own terms do not depend on the rest of the batch, and nothing is remembered between calls."""
    planned, engine, _, _ = trained(name, "hard")
    for phase in planned.phases:
        batch = extreme_batch(phase.name)
        whole = engine.state.method.loss(batch).parts
        half = Batch(**{k: v[:8] if isinstance(v, Tensor) else v for k, v in vars(batch).items()})
        for part, value in engine.state.method.loss(half).parts.items():
            torch.testing.assert_close(value, whole[part][:8])
        for part, value in engine.state.method.loss(batch).parts.items():
            assert torch.equal(value, whole[part])


@pytest.mark.parametrize("name", METHODS)
def test_says_what_it_is(name: str) -> None:
    kind = methods.kind(name)
    assert kind.__doc__ and kind.__doc__.strip()
    assert kind.phase_names and len(set(kind.phase_names)) == len(kind.phase_names)
    planned, *_ = trained(name, "hard")
    assert tuple(phase.name for phase in planned.phases) == kind.phase_names
    assert set(kind.phase_schedules) <= set(kind.phase_names)
    with pytest.raises(Exception, match="no setting"):
        methods.create(name, {**planned.settings.options, "no_such_option": 1}, C)


@pytest.mark.parametrize("name", METHODS)
def test_the_loss_is_one_graph(name: str) -> None:
    """No value is read and no branch is taken on the way, so that the step can be compiled and captured on a GPU."""
    planned, engine, _, _ = trained(name, "hard")
    method = engine.state.method
    for phase in planned.phases:
        batch = extreme_batch(phase.name)

        def total(logits: Tensor, label_logits: Tensor, batch: Batch = batch) -> Tensor:
            terms = method.loss(replace(batch, logits=logits, label_logits=label_logits))
            return sum(terms.parts.values(), torch.zeros(16)).sum() + sum(terms.whole_batch.values())

        torch._dynamo.reset()
        traced = torch.compile(total, backend="eager", fullgraph=True)
        torch.testing.assert_close(traced(batch.logits, batch.label_logits), total(batch.logits, batch.label_logits))
