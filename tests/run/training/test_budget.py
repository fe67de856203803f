"""A time budget becomes epochs."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import pencil
from pencil.cli.asked import budget_seconds
from pencil.config import merge
from pencil.engine import loop
from pencil.errors import PencilError
from pencil.run.planning.lengths import shared
from pencil.run.planning.plan import plan
from pencil.run.training import budget, estimate
from pencil.run.training.estimate import estimate_seconds
from pencil.run.training.machine import choose_machine

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(600, 8)).astype(np.float32), np.arange(600) % 2
QUICK = {"backbone": "mlp", "backbone_options": {"hidden": 16}, "hardware": {"device": "cpu", "threads": 1}}


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("45", 45)])
def test_times_are_read(text: str, seconds: float) -> None:
    assert budget_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "soon", "10 minutes", "-5s", "1h30", "s"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(PencilError, match="give a time such as"):
        budget_seconds(text)


def test_epochs_are_shared_in_proportion() -> None:
    assert shared(8, [20, 40, 20]) == [2, 4, 2]


def test_a_run_takes_its_budget_at_the_measured_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A fixed pace: other work on the machine changes the real one from moment to moment.
    monkeypatch.setattr(budget, "estimate_seconds", lambda plan, machine: 0.5 * plan.epochs)
    result = pencil.fit(X, Y, out=tmp_path / "run", settings=QUICK, budget=4)
    assert Counter(record["phase"] for record in result.history) == {"backbone": 2, "labels": 4, "tuning": 2}
    planned = plan((X, Y), QUICK)
    machine = choose_machine(planned.settings.hardware)
    usual = sum(phase.usual for phase in planned.phases)
    assert sum(budget.lengths_for(planned, machine, 1e6)) == budget.MOST * usual < budget.MOST * planned.epochs


def test_too_little_time_says_how_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "SAMPLE_SECONDS", 0.2)
    with pytest.raises(PencilError, match=r"0.01 seconds are enough for 0 epochs .* give a longer budget"):
        pencil.fit(X, Y, out=tmp_path / "run", settings=QUICK, budget=0.01)
    assert not (tmp_path / "run").exists()


def test_a_budget_for_no_phase_is_refused() -> None:
    none = {"phases": {name: {"epochs": 0} for name in ("backbone", "labels", "tuning")}}
    with pytest.raises(PencilError, match="all phases have 0 epochs"):
        pencil.fit(X, Y, settings=merge(QUICK, none), budget=4)


def test_epochs_and_a_budget_are_one_too_many() -> None:
    with pytest.raises(PencilError, match="leave epochs and resume=True out"):
        pencil.fit(X, Y, epochs=[1, 1, 1], budget=10)


def test_what_is_measured_does_not_look_at_all_the_data_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object, **__: object) -> None:
        raise AssertionError("a look at every example can take longer than the run that is asked for")

    monkeypatch.setattr(loop, "reason_to_distort", look)
    monkeypatch.setattr(estimate, "SAMPLE_SECONDS", 0.2)
    pictures = RNG.integers(0, 255, (600, 24, 24, 3), dtype=np.uint8)
    # With epochs of one step, several pass in the moment that is measured, and then whole ones are measured too.
    planned = plan((pictures, Y), QUICK | {"data": {"held_out": 0.2}, "optimizer": {"batch_size": 480}})
    assert planned.settings.teaching.distortion, "a run would look"
    assert estimate_seconds(planned, choose_machine(planned.settings.hardware)) > 0


def test_slow_steps_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "SAMPLE_SECONDS", 1e9)  # Enough steps for this would never be taken.
    monkeypatch.setattr(estimate, "SLOW_SECONDS", 0.2)
    planned = plan((X, Y), QUICK)
    assert estimate_seconds(planned, choose_machine(planned.settings.hardware)) > 0
    sample = estimate._Sample()
    sample.times = [10.0, 15.0]
    assert sample.step_seconds == 5.0


@pytest.mark.parametrize("budget", ["5s", float("nan"), float("inf"), -1])
def test_a_budget_is_a_number_of_seconds(budget: object) -> None:
    with pytest.raises(PencilError, match="give a number of seconds, more than 0"):
        pencil.fit(X, Y, settings=QUICK, budget=budget)  # type: ignore[arg-type]


def test_a_phase_that_is_left_out_gets_none_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "estimate_seconds", lambda plan, machine: 0.5 * plan.epochs)
    lengths = {"backbone": 0, "labels": 6, "tuning": 3}
    phases = {name: {"epochs": epochs, "patience": 0} for name, epochs in lengths.items()}
    planned = plan((X, Y), merge(QUICK, {"phases": phases}))
    machine = choose_machine(planned.settings.hardware)
    assert budget.lengths_for(planned, machine, 3) == [0, 4, 2]
    assert budget.lengths_for(planned, machine, 1) == [0, 1, 1]
