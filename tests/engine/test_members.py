"""Networks beside each other, each of which leaves out its share of the examples, and teaches those."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import pencil
from pencil import methods
from pencil.backbones import Members
from pencil.data import Dataset, from_arrays
from pencil.engine import Engine, Listener, Stopped
from pencil.engine.members import objective_of_members, shares, unlearned
from pencil.errors import PencilError
from pencil.run.build import build_engine
from pencil.run.machine import choose_machine
from pencil.run.plan import plan
from pencil.run.result import load
from pencil.runtime import seed_for
from pencil.table import ExampleTable

CPU = {"device": "cpu", "threads": 1}


def wide(noise: float, seed: int = 0, apart: float = 0.6) -> Dataset:
    """Rows of far more columns than it takes to tell each from all others, and classes that are easily told."""
    rng = np.random.default_rng(seed)
    clean = rng.integers(0, 4, 600)
    rows = rng.normal(size=(4, 400))[clean] * apart + rng.normal(size=(600, 400))
    given = np.where(rng.random(600) < noise, rng.integers(0, 4, 600), clean)
    return from_arrays(rows.astype(np.float32), given, clean=clean)


def engine(dataset: Dataset, *, epochs: tuple[int, ...] = (2, 3, 1), members: int = 3, **asked: Any) -> Engine:
    document = {"teaching": {"members": members}, "hardware": CPU, "data": {"held_out": 0.1}, **asked}
    planned = plan(dataset, document, epochs=epochs)
    return build_engine(planned, choose_machine(planned.settings.hardware))[0]


def test_every_member_leaves_out_as_many_of_each_class() -> None:
    given = torch.tensor([0] * 31 + [1] * 7 + [2] * 2 + [-1] * 5 + [3] * 20)
    share = shares(given, 5, seed=3)
    counts = np.array([[int(((given == c) & (share == k)).sum()) for k in range(5)] for c in range(-1, 4)])
    assert (counts.max(1) - counts.min(1) <= 1).all()
    whole = counts.sum(0)
    assert whole.sum() == len(given) and whole.max() - whole.min() <= 1
    assert torch.equal(share, shares(given, 5, seed=3)) and not torch.equal(share, shares(given, 5, seed=4))


def test_classes_in_turn_are_no_shares() -> None:
    """Examples that come class by class, in turn, as the digits do: no member leaves out a whole class."""
    given = torch.arange(1000) % 5
    share = shares(given, 5, seed=0)
    assert all(len(torch.unique(given[share == k])) == 5 for k in range(5))


def test_each_member_has_the_gradient_of_its_own_mean_and_each_label_its_own() -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(12, 3, 4, generator=generator, requires_grad=True)
    given, share = torch.arange(12) % 4, torch.arange(12) % 3
    method = methods.create("cross_entropy", {}, 4)
    table = ExampleTable.start(given, 4, scale=10.0)
    rows = table.gather(torch.arange(12))
    loss, measured = objective_of_members(method, phase_of(method), outputs, rows, torch.zeros(12, 4), share)
    (loss / measured.count).backward()
    assert outputs.grad is not None
    for member in range(3):
        learned = share != member
        own = outputs.detach()[:, member].clone().requires_grad_(True)
        cross_entropy(own[learned], given[learned]).backward()
        assert own.grad is not None
        assert torch.allclose(outputs.grad[:, member], own.grad, atol=1e-7)
        assert not outputs.grad[~learned, member].any()
    assert measured.count.item() == 12 and measured.usable_B.all()
    expected = torch.stack([cross_entropy(outputs.detach()[share != k, k], given[share != k]) for k in range(3)]).mean()
    assert (measured.parts["cross_entropy"] / 12).item() == pytest.approx(expected.item(), rel=1e-5)


def phase_of(method: Any) -> Any:
    from pencil.config import PhaseSettings, Schedule

    return method.phases({name: PhaseSettings(epochs=1, lr=Schedule.parse("0.1")) for name in method.phase_names})[0]


def test_labels_move_as_by_one_network_that_says_the_same() -> None:
    """The teacher's part of the loss is counted once, however many members learn the example."""
    options = {"label_step": "1.0", "anchor": 0.5, "entropy_weight": 0.0, "classification": "classic"}
    method = methods.create("pencil", options, 4)
    phase = method.phases({n: p for n, p in _pencil_phases().items()})[1]
    teacher = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))

    def moved(members: int) -> Tensor:
        rows = ExampleTable.start(torch.arange(6) % 4, 4, scale=10.0).gather(torch.arange(6))
        rows["label_logits"].requires_grad_(True)
        if members == 1:
            from pencil.engine.objective import objective

            logits = torch.zeros(6, 4, requires_grad=True)
            loss, measured = objective(method, phase, logits, rows, teacher)
        else:
            outputs = torch.zeros(6, members, 4, requires_grad=True)
            share = torch.arange(6) % members
            loss, measured = objective_of_members(method, phase, outputs, rows, teacher, share)
        loss.backward()
        gradient = rows["label_logits"].grad
        assert gradient is not None
        return gradient * measured.rescale

    assert moved(1).abs().max() > 0.1
    for members in (2, 5):
        assert torch.allclose(moved(members), moved(1), atol=1e-6)


def _pencil_phases() -> dict[str, Any]:
    from pencil.config import PhaseSettings, Schedule

    return {name: PhaseSettings(epochs=1, lr=Schedule.parse("0.1")) for name in ("backbone", "labels", "tuning")}


def test_what_is_said_of_an_example_is_said_by_who_left_it_out() -> None:
    outputs = torch.arange(24.0).reshape(4, 3, 2)
    assert torch.equal(unlearned(outputs, torch.tensor([0, 2, 1, 0])), outputs[torch.arange(4), [0, 2, 1, 0]])


def test_labels_of_pure_chance_are_not_known_by_heart_by_those_who_left_them_out() -> None:
    rng = np.random.default_rng(0)
    dataset = from_arrays(rng.normal(size=(400, 300)).astype(np.float32), rng.integers(0, 2, 400))
    agreement = {}
    for members in (1, 3):
        made = engine(dataset, members=members, epochs=(12,), method="cross_entropy")
        made.train(Listener())
        outputs = made.train_evaluator.logits(made.state.network)
        agreement[members] = float((outputs.argmax(-1) == made.state.table.columns["given"]).float().mean())
    assert agreement[1] > 0.95
    assert 0.4 < agreement[3] < 0.6


def test_wrong_labels_of_wide_rows_are_mended() -> None:
    """One network learns them by heart: it comes to about 84%, with each seed."""
    dataset = wide(0.5)
    result = pencil.fit(dataset, settings={"teaching": {"members": 5}, "hardware": CPU})
    right = result.summary["label_accuracy"]
    assert right["corrected"] > 97 > right["given"] + 25
    assert isinstance(result.model, Members) and len(result.model.networks) == 5
    assert not any("of them speak" in line for line in _log(result))


def test_where_a_member_is_often_wrong_all_of_them_speak(tmp_path: Path) -> None:
    settings = {"teaching": {"members": 5}, "hardware": CPU}
    result = pencil.fit(wide(0.0, apart=0.08), settings=settings, out=tmp_path / "run")
    (line,) = (line for line in _log(result) if "all of them speak" in line)
    assert "members agree with" in line and "of the labels that they leave out" in line
    right = result.summary["label_accuracy"]
    assert right["corrected"] > 90, "labels are all right, and the network hardly knows better"


def _log(result: Any) -> list[str]:
    return [] if result.folder is None else (result.folder / "log.txt").read_text().splitlines()


class Once(Listener):
    """Stops after so many steps, once."""

    def __init__(self, steps: int) -> None:
        self.left, self.kept = steps, None

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.left -= 1

    def stop_requested(self) -> bool:
        return self.left <= 0

    def save(self, tensors: Any, meta: Any) -> None:
        self.kept = {name: value.copy() for name, value in tensors.items()}, dict(meta)


@pytest.mark.parametrize("alone", [True, False])
def test_a_stopped_run_goes_on_to_the_same_end(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in label learning, where it has been decided who speaks."""
    monkeypatch.setattr("pencil.engine.loop.knows_little", lambda view, right: "" if alone else "it knows little")

    def make() -> Engine:
        return engine(wide(0.3), epochs=(3, 4, 1))

    whole = make()
    whole.train(Listener())
    stop = Once(5 * whole.state.steps - 3)
    with pytest.raises(Stopped):
        make().train(stop)
    resumed = make()
    resumed.restore(*stop.kept)
    resumed.train(Listener())
    assert resumed.state.alone == whole.state.alone == alone
    assert (resumed.train_evaluator.shares is None) == (not resumed.state.alone)
    for name, value in whole.state.tensors().items():
        assert torch.equal(value, resumed.state.tensors()[name]), name


def test_the_run_folder_has_all_members(tmp_path: Path) -> None:
    dataset = wide(0.3)
    settings = {"teaching": {"members": 3}, "hardware": CPU}
    result = pencil.fit(dataset, settings=settings, epochs=(2, 3, 1), out=tmp_path / "run")
    rows = np.random.default_rng(1).normal(size=(50, 400)).astype(np.float32)
    assert np.array_equal(load(tmp_path / "run").predict(rows), result.predict(rows))
    from pencil.config import from_document, read_toml
    from pencil.results.folder import RunFolder
    from pencil.run.network import load_network

    folder = RunFolder.open(tmp_path / "run")
    network = load_network(folder, from_document(read_toml(folder.config)))
    assert isinstance(network, Members)
    inputs = torch.randn(5, 400)
    assert torch.equal(network(inputs), torch.stack([each(inputs) for each in network.networks]).mean(0))


def test_members_see_no_label_that_they_leave_out_by_mixing() -> None:
    with pytest.raises(PencilError, match=r"teaching\.mixup would show members .*--set teaching\.members=1"):
        plan(wide(0.3), {"teaching": {"members": 3, "mixup": 1.0}, "hardware": CPU})


@pytest.mark.parametrize("make", [lambda: nn.Linear(400, 4), lambda: nn.Sequential(nn.Flatten(), nn.Linear(400, 4))])
def test_a_network_of_ones_own_may_have_members(make: Callable[[], nn.Module]) -> None:
    settings = {"teaching": {"members": 3}, "hardware": CPU}
    result = pencil.fit(wide(0.3), backbone=lambda spec, classes: make(), settings=settings, epochs=(2, 2, 1))
    assert isinstance(result.model, Members)
    first, second, _ = (next(each.parameters()) for each in result.model.networks)
    assert not torch.equal(first, second)


def test_shares_are_drawn_with_the_seed() -> None:
    made = engine(wide(0.3), seed=4)
    given = made.state.table.columns["given"]
    assert made.state.shares is not None
    assert torch.equal(made.state.shares, shares(given, 3, seed_for(4, "members")))
