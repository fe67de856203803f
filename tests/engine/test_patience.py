"""A phase that has learned what it can is left early; the epochs after it follow on, also over a stop."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pencil import methods
from pencil.config import TeachingSettings
from pencil.data import ArrayInputs
from pencil.engine import Watched, watched
from pencil.engine.evaluate import Evaluator
from pencil.engine.patience import Patience
from pencil.engine.watched import Agreement
from pencil.runtime import PRECISIONS

N, BATCH, STEPS, PATIENCE = 64, 16, 4, 2
PHASES = {"backbone": (30, "0.3"), "labels": (2, "0.1 ~> 0.01"), "tuning": (1, "0.1")}


def left_after(losses: list[float], most: int) -> int:
    """How many epochs it takes until the last ones are on the whole hardly better than as many before."""
    patience = Patience()
    return next((n for n, loss in enumerate(losses, 1) if patience.wears_out({"held_out_loss": loss}, most)), 0)


def test_it_wears_out_where_some_epochs_are_no_better_than_as_many_before() -> None:
    losses = [3.0, 2.6, 2.5, 2.0, 2.6, 1.9, 2.3, 2.2]
    # 2.17 after 2.7, 2.27 after 2.37, 2.13 after 2.37
    assert left_after(losses, 3) == 0
    assert left_after([*losses, 2.3], 3) == 9  # 2.27 after 2.17
    assert left_after([1.0] * 9, 3) == 6 and left_after(losses, 1) == 5
    assert left_after(losses, 0) == 0
    assert not any(Patience().wears_out({}, 1) for _ in losses)


def test_a_loss_that_is_not_finite_tells_nothing() -> None:
    losses = [3.0, float("nan"), 2.6, float("inf"), 2.5]
    patience = Patience()
    assert not any(patience.wears_out({"held_out_loss": loss}, 1) for loss in losses)
    assert patience.losses == [3.0, 2.6, 2.5]


def test_checkpoints_with_losses_that_were_not_finite_go_on(build: Any, train: Any) -> None:
    """A file of JSON holds none of them: they come back as nothing."""
    arrays, meta = train(build(), stop_after=STEPS + 1).saved[-1]
    again = build()
    again.restore(arrays, meta | {"losses": [None, 2.0]})
    assert again.patience.losses == [2.0]


def test_chance_does_not_end_what_still_falls() -> None:
    rng = np.random.default_rng(0)
    falling = list(2.0 - 0.02 * np.arange(100) + rng.normal(0, 0.08, 100))
    lowest = np.minimum.accumulate(falling)
    assert max(np.diff(np.flatnonzero(np.diff(lowest, prepend=9.0)))) > 8, "eight epochs without a lower loss"
    assert left_after(falling, 8) == 0
    assert 50 <= left_after([*falling[:50], *(falling[49] + rng.normal(0, 0.08, 50))], 8) <= 80


def test_what_became_slow_is_left_and_what_always_was_is_not() -> None:
    epochs = np.arange(120)
    slowed = 0.5 + 1.5 / (1 + epochs)
    assert 16 < left_after(list(slowed), 8) < 80
    # Little is learned from labels that are mostly wrong, a little of it in each epoch.
    assert left_after(list(2.3 - 0.05 * (slowed[0] - slowed)), 8) == left_after(list(slowed), 8), (
        "by no scale of its own"
    )
    assert left_after(list(2.3 - 0.05 * epochs / 120), 8) == 0


def test_the_longer_it_took_the_more_epochs_are_compared() -> None:
    """A hundred epochs of slow learning are not ended by sixteen that learned nothing."""
    losses = [*(2.3 - 0.0005 * np.arange(100)), *([2.25] * 16)]
    assert left_after(losses, 8) == 0 and left_after([*losses, *([2.25] * 52)], 8) > 116


def test_a_phase_has_had_time_enough_where_it_still_learns() -> None:
    falling = Patience(list(np.arange(60, 0, -1.0)))
    assert [falling.has_learned(8, epochs) for epochs in (47, 48)] == [False, True]
    assert Patience([1.0] * 16).has_learned(8, 16) and not Patience([1.0] * 15).has_learned(8, 15)
    assert not Patience([1.0] * 60).has_learned(0, 60), "whoever says how long means just so long"


@pytest.fixture
def build(digits: Any, engine_of: Any, networks: Any) -> Any:
    def make(*, watches: bool = True) -> Any:
        method = methods.create("pencil", {"anchor": 0.5, "label_step": "2 -> 0", "from_best": True}, 10)
        data = digits(2 * N, images=True, noise=0.6)
        seen = replace(data, x=data.x[:N], given=data.given[:N], clean=data.clean[:N])
        engine = engine_of(seen, method, PHASES, networks["forgetful"], batch=BATCH)
        engine.phases = (replace(engine.phases[0], patience=PATIENCE), *engine.phases[1:])
        if watches:
            cpu = torch.device("cpu")
            inputs = Evaluator(ArrayInputs(data.x[N:]), engine.prepare, PRECISIONS["32-true"], cpu, resident=True)
            engine.watched = {"held_out": Watched(inputs, torch.from_numpy(data.given[N:]))}
        return engine

    return make


def test_a_phase_is_left_when_the_held_out_loss_no_longer_falls(build: Any, train: Any) -> None:
    engine = build()
    tape = train(engine)
    first = [record for record in tape.records if record["phase"] == "backbone"]
    losses = [record["held_out_loss"] for record in first]
    assert 2 * PATIENCE < len(first) == left_after(losses, PATIENCE) < 30
    assert [record["epoch"] for record in tape.records] == list(range(len(first) + 3)), "without a gap"
    assert [record["phase_epoch"] for record in tape.records[-3:]] == [0, 1, 0]
    assert tape.lengths == [[len(first), 2, 1]]
    assert tape.phase_ends == [False] * (len(first) - 1) + [True, False, True, True]
    assert f"phase backbone ends after {len(first)} epochs" in tape.notes[0]


def test_overconfidence_can_be_forgiven(build: Any, train: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "MANY", 2 * N)
    few = build()
    few.state.teaching = TeachingSettings(forgive_overconfidence=True)
    assert not any("held_out_ignorance" in record for record in train(few).records)

    monkeypatch.setattr(watched, "MANY", N)
    monkeypatch.setattr(watched, "SURE", 1e9)  # So little is learned here that nobody could tell it from chance.
    engine = build()
    engine.state.teaching = TeachingSettings(forgive_overconfidence=True)
    first = [record for record in train(engine).records if record["phase"] == "backbone"]
    unknown, losses = ([record[f"held_out_{name}"] for record in first] for name in ("ignorance", "loss"))
    assert all(a <= b + 1e-4 for a, b in zip(unknown, losses, strict=True)) and unknown[-1] < losses[-1] - 0.01
    assert left_after(unknown, PATIENCE) == len(first) < 30


def test_ignorance_counts_where_it_is_known() -> None:
    records = [
        {"epoch": e, "held_out_loss": 2.0 + e, "held_out_ignorance": 2.0 - e, "held_out_accuracy": 7.0 * e}
        for e in range(5)
    ]
    patience = Patience()
    assert not any(patience.wears_out(record, 2) for record in records)
    assert [watched.score(record, keeps_best="loss") for record in records] == [-2.0, -1.0, 0.0, 1.0, 2.0]
    assert [watched.score(record, keeps_best="accuracy") for record in records] == [0.0, 7.0, 14.0, 21.0, 28.0]


def test_what_is_learned_by_heart_is_not_forgiven(build: Any) -> None:
    engine = build()
    held_out = engine.watched["held_out"]
    logits = held_out.evaluator.logits(engine.state.network)
    right = int((logits.argmax(-1) == held_out.labels).sum())
    for hits, by_heart in ((right, False), (N, True)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(watched, "MANY", N)
            record = watched.watch(_Loud(engine.state.network), engine.watched, Agreement(hits, N))
        assert (record["held_out_ignorance"] == record["held_out_loss"]) == by_heart
        assert record["held_out_ignorance"] <= record["held_out_loss"]


class _Loud(torch.nn.Module):
    """A network that is surer than it may be."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = 20 * self.network(x)
        return outputs


def test_without_held_out_labels_a_phase_has_its_length(build: Any, train: Any) -> None:
    assert len(train(build(watches=False)).records) == 33


def test_a_run_that_stops_around_the_early_end_is_an_unbroken_one(build: Any, train: Any) -> None:
    whole = build()
    expected = train(whole).records
    end = STEPS * sum(record["phase"] == "backbone" for record in expected)
    for stop in (end - STEPS - 1, end - STEPS, end - 1, end, end + 1, end + STEPS):
        engine = build()
        tape = train(engine, stop_after=stop)
        arrays, meta = tape.saved[-1]
        again = build()
        again.restore(arrays, json.loads(json.dumps(meta)))
        assert tape.records + train(again).records == expected
        for name, value in whole.state.export().items():
            assert np.array_equal(again.state.export()[name], value), name
