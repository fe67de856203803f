"""The collapse guard: what it takes for harm, and a run that it saves."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor

from pencil.data import from_arrays
from pencil.engine import Engine, Listener, Stopped
from pencil.engine.guard import SLOWER, Guard
from pencil.engine.harm import went_back
from pencil.errors import PencilError
from pencil.run.planning.plan import plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine
from pencil.runtime import seed_for

GIVEN = torch.tensor([100, 100])


def guard(accuracy: float = 60.0, agreement: float = 90.0) -> Guard:
    made = Guard({"x": torch.zeros(1)})
    for moved in (False, True):
        made.keep({"x": torch.ones(1)}, {"held_out_accuracy": accuracy, "agreement": agreement}, moved=moved)
    return made


@pytest.mark.parametrize(
    ("accuracy", "agreement", "labels", "says"),
    [
        # Of 2,400 labels at 60% one standard error is 1 point.
        (57.1, 90.0, [100, 100], ""),
        (56.9, 90.0, [100, 100], "accuracy on the held-out labels fell from 60.0% to 56.9%"),
        (60.0, 61.0, [100, 100], ""),
        (60.0, 59.0, [100, 100], "agrees with 59.0% of the labels, after 90.0%"),
        (60.0, 90.0, [179, 21], ""),
        (60.0, 90.0, [180, 20], "class 1 is down to 20 of 100"),
    ],
)
def test_harm_is_a_fall_beyond_chance(accuracy: float, agreement: float, labels: list[int], says: str) -> None:
    record = {"held_out_accuracy": accuracy, "agreement": agreement}
    found = guard().judge(record, 2_400, torch.tensor(labels), GIVEN)
    assert says in found if says else not found


def test_a_class_may_shrink_further_where_few_labels_are_right() -> None:
    record, given = {"held_out_accuracy": 15.0, "agreement": 90.0}, torch.tensor([10_000, 10_000])
    hesitant = guard(accuracy=15.0)
    assert not hesitant.judge(record, 2_400, torch.tensor([19_200, 800]), given)
    assert "class 1" in hesitant.judge(record, 2_400, torch.tensor([19_300, 700]), given)
    assert "class 1" in guard().judge(record | {"held_out_accuracy": 60.0}, 2_400, torch.tensor([17_200, 2_800]), given)
    # Without held-out labels, two in three are taken to be right.
    assert not hesitant.judge(record, 0, torch.tensor([16_700, 3_300]), given)
    assert "class 1" in hesitant.judge(record, 0, torch.tensor([16_800, 3_200]), given)


def test_what_counts_as_a_lost_class_stays_as_the_network_gets_better() -> None:
    made, few = guard(accuracy=15.0), torch.tensor([19_200, 800])
    record, given = {"held_out_accuracy": 19.0, "agreement": 90.0}, torch.tensor([10_000, 10_000])
    assert not made.judge(record, 2_400, few, given)
    made.keep({"x": torch.ones(1)}, record, moved=True)
    assert not made.judge(record, 2_400, few, given), "it would go back to these labels, and do so for ever"


def test_all_of_a_few_held_out_labels_is_no_certainty() -> None:
    made = guard(accuracy=100.0)
    assert not made.judge({"held_out_accuracy": 93.0, "agreement": 90.0}, 14, GIVEN, GIVEN)
    assert made.judge({"held_out_accuracy": 93.0, "agreement": 90.0}, 14_000, GIVEN, GIVEN)


def test_without_held_out_labels_the_other_signs_count() -> None:
    assert not guard(accuracy=0.0).judge({"agreement": 90.0}, 0, GIVEN, GIVEN)
    assert "class 0" in guard(accuracy=0.0).judge({"agreement": 90.0}, 0, torch.tensor([0, 200]), GIVEN)


def test_going_back_restores_and_slows_down() -> None:
    made, value = guard(), torch.full((1,), 7.0)
    made.go_back({"x": value})
    assert value.item() == 1
    assert made.pace.item() == SLOWER
    paces = []
    for _ in range(3):
        made.keep({"x": value}, {"held_out_accuracy": 60.0, "agreement": 90.0}, moved=True)
        paces.append(made.pace.item())
    assert paces == [1 / 2, 1, 1], "what went well for a while may move as before"


def test_it_goes_back_to_the_best_weights_where_label_learning_began_with_them() -> None:
    state = hasty(guarded=True).state
    assert state.guard is not None
    state.best |= {"score": torch.zeros(())} | {f"model.{k}": v.clone() for k, v in state.network.state_dict().items()}
    first = next(iter(state.model.parameters()))
    best = first.detach().clone()
    first.data += 1
    state.guard.take(state.learning())
    state.return_to_best()
    first.data += 1
    state.guard.go_back(state.learning())
    assert torch.equal(first, best)


def test_labels_that_have_not_changed_did_no_harm() -> None:
    engine = hasty(guarded=True)
    state, phase = engine.state, engine.phases[1]
    assert state.guard is not None
    state.guard.keep(state.learning(), {"held_out_accuracy": 60.0, "agreement": 60.0}, moved=False)
    state.meters.labels = torch.bincount(state.table.columns["given"], minlength=10)
    still = {"changed": 0, "relabelled": 0, "agreement": 40.0}
    moving = {"changed": 9, "relabelled": 9, "agreement": 40.0}
    assert not went_back(state, phase, {**still, "held_out_accuracy": 40.0}, held_out=2_400)
    assert not went_back(state, phase, {**moving, "held_out_accuracy": 39.0}, held_out=2_400), "judged by the 40%"
    assert "from 40.0% to 36.0%" in went_back(state, phase, {**moving, "held_out_accuracy": 36.0}, held_out=2_400)
    assert "from 40.0% to 36.0%" in went_back(
        state, phase, {**still, "relabelled": 9, "held_out_accuracy": 36.0}, held_out=2_400
    ), "labels that changed before may do harm without moving on"


def test_where_labels_hardly_move_and_it_still_gets_worse_the_network_may_learn_its_way_out() -> None:
    engine = hasty(guarded=True)
    state, phase = engine.state, engine.phases[1]
    made = state.guard
    assert made is not None
    made.keep(state.learning(), {"held_out_accuracy": 60.0, "agreement": 60.0}, moved=True)
    state.meters.labels = torch.bincount(state.table.columns["given"], minlength=10)
    moving = {"changed": 9, "relabelled": 9, "agreement": 40.0}
    undone = [went_back(state, phase, {**moving, "held_out_accuracy": 40.0}, held_out=2_400) for _ in range(4)]
    assert [bool(one) for one in undone] == [True, True, True, False]
    assert made.pace.item() == SLOWER**3
    assert not went_back(state, phase, {**moving, "held_out_accuracy": 39.0}, held_out=2_400), "judged by the 40%"
    assert "from 40.0% to 36.0%" in went_back(state, phase, {**moving, "held_out_accuracy": 36.0}, held_out=2_400)


@pytest.mark.parametrize("fresh", [False, True])
def test_going_back_leaves_what_a_phase_began_with(fresh: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = hasty(guarded=True, epochs=(1, 1, 0))
    state = engine.state
    assert state.guard is not None
    engine.phases = (engine.phases[0], replace(engine.phases[1], fresh_network=fresh))

    def halve(view: Any, phase: Any) -> None:
        view.columns["weight"].fill_(0.5 if phase.name == "labels" else 1.0)

    monkeypatch.setattr(state.method, "before_phase", halve)
    best: list[float] = []

    def judge(guard: Guard, *_: Any) -> str:
        best.append(guard.highest[0].item())
        return "harm"

    monkeypatch.setattr(Guard, "judge", judge)
    listener = Watcher()
    engine.train(listener)
    assert listener.records[1]["went_back"] == "harm"
    assert (state.table.columns["weight"] == 0.5).all()
    assert (best[0] == 0) == fresh, "a fresh network is not measured by another one's best"
    torch.manual_seed(seed_for(engine.seed, "network", 1))
    made = engine.new_network().state_dict()
    same = all(torch.equal(value, made[name]) for name, value in state.model.state_dict().items())
    assert same == fresh


class Watcher(Listener):
    def __init__(self, stop_after: int = 10**9) -> None:
        self.records: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.left = stop_after
        self.saved: Any = None

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.left -= 1

    def epoch_done(self, record: dict[str, Any]) -> None:
        self.records.append(record)

    def save(self, tensors: Any, meta: Any) -> None:
        self.saved = {k: np.array(v) for k, v in tensors.items()}, dict(meta)

    def stop_requested(self) -> bool:
        return self.left <= 0

    def note(self, line: str) -> None:
        self.notes.append(line)


def hasty(*, guarded: bool, epochs: tuple[int, int, int] = (4, 14, 1)) -> Engine:
    """Label steps so large that labels follow each other into a few classes."""
    loaded, rng = load_digits(), np.random.default_rng(77)
    order = rng.permutation(1797)
    x, truth = (loaded.data[order] / 16).astype(np.float32), loaded.target[order].astype(np.int64)
    wrong = rng.random(1437) < 0.3
    given = np.where(wrong, rng.integers(0, 10, 1437), truth[:1437])
    asked = {
        "recipe": "paper/cifar10-asymmetric-40",
        "optimizer": {"batch_size": 64},
        "options": {"label_lr": "30000", "entropy_weight": 0.9},
        "phases": {"labels": {"lr": "0.1"}, "tuning": {"lr": "0.05"}},
        "teaching": {"guard": guarded},
        "hardware": {"device": "cpu", "threads": 1},
    }
    planned = plan(
        from_arrays(x[:1437], given, clean=truth[:1437], test=(x[1437:], truth[1437:])), asked, epochs=epochs
    )
    return build_engine(planned, choose_machine(planned.settings.hardware))[0]


def test_a_run_that_collapses_without_it_is_saved() -> None:
    records = {}
    for guarded in (False, True):
        watcher = Watcher()
        hasty(guarded=guarded).train(watcher)
        records[guarded] = watcher.records
    given = records[True][0]["label_accuracy"]
    assert records[False][-1]["label_accuracy"] < given, "labels get worse than they were given"
    assert records[True][-1]["label_accuracy"] > given + 10, "guarded, they get better"
    assert records[True][-1]["test_accuracy"] > records[False][-1]["test_accuracy"] + 20
    said = [record["epoch"] for record in records[True] if "went_back" in record]
    assert said
    assert [line for line in watcher.notes if "go back" in line and "more slowly" in line]
    assert watcher.records[said[0] + 1]["label_step"] == pytest.approx(
        SLOWER * watcher.records[said[0]]["label_step"], rel=0.2
    )


def test_a_guarded_run_stopped_anywhere_goes_on_to_the_same_bits() -> None:
    whole = hasty(guarded=True, epochs=(4, 4, 1))
    whole.train(Watcher())
    for steps in (90, 130):
        listener = Watcher(steps)
        with pytest.raises(Stopped):
            hasty(guarded=True, epochs=(4, 4, 1)).train(listener)
        again = hasty(guarded=True, epochs=(4, 4, 1))
        again.restore(*listener.saved)
        again.train(Watcher())
        here: dict[str, Tensor] = again.state.tensors()
        for name, value in whole.state.tensors().items():
            assert torch.equal(value, here[name]), name


def test_a_checkpoint_with_labels_that_are_no_class_is_refused() -> None:
    listener = Watcher(90)
    with pytest.raises(Stopped):
        hasty(guarded=True, epochs=(4, 4, 1)).train(listener)
    arrays, meta = listener.saved
    arrays["table.given"][7] = 10
    with pytest.raises(PencilError, match="column given holds labels that are no class"):
        hasty(guarded=True, epochs=(4, 4, 1)).restore(arrays, meta)


def test_a_checkpoint_of_before_it_kept_how_many_labels_are_right_goes_on() -> None:
    first, watcher = hasty(guarded=True), Watcher(stop_after=120)
    with pytest.raises(Stopped):
        first.train(watcher)
    tensors, meta = watcher.saved
    assert tensors.pop("guard.right") > 0
    again = hasty(guarded=True)
    again.restore(tensors, meta)
    assert again.state.guard is not None and again.state.guard.right == again.state.guard.highest[0]
