"""A phase whose method needs more epochs gets them as it begins; its schedules stretch, also over a stop."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pencil import methods

N, BATCH, STEPS = 64, 16, 4
PHASES = {"backbone": (2, "0.3"), "labels": (4, "0.1 ~> 0.01"), "tuning": (1, "0.1")}


@pytest.fixture
def build(digits: Any, engine_of: Any, networks: Any) -> Any:
    def make(*, times: float = 2.3, at_most: int = 8, lr: str = "0.1 ~> 0.01") -> Any:
        method = methods.create("pencil", {"anchor": 0.5, "label_step": "2 -> 0"}, 10)
        method.times_as_long = lambda view, phase: (times if phase.name == "labels" else 1.0, "so much is to learn")
        phases = PHASES | {"labels": (4, lr)}
        engine = engine_of(digits(N, images=True, noise=0.6), method, phases, networks["forgetful"], batch=BATCH)
        engine.phases = tuple(replace(phase, at_most=at_most * (phase.name == "labels")) for phase in engine.phases)
        return engine

    return make


@pytest.mark.parametrize(
    ("times", "at_most", "epochs"),
    [(1.0, 8, 4), (0.2, 8, 4), (1.6, 8, 6), (2.3, 8, 8), (2.3, 0, 4), (2.3, 3, 4)],
)
def test_a_phase_gets_what_it_needs_and_may_have(
    build: Any, train: Any, times: float, at_most: int, epochs: int
) -> None:
    tape = train(build(times=times, at_most=at_most))
    labels = [record for record in tape.records if record["phase"] == "labels"]
    assert len(labels) == epochs and len(tape.records) == 2 + epochs + 1
    assert tape.lengths == [[2, epochs, 1]] * (epochs > 4)
    said = f"phase labels takes {epochs} epochs instead of 4: so much is to learn."
    assert (said in tape.notes) == (epochs > 4)


def test_rates_fall_over_all_of_it(build: Any, train: Any) -> None:
    for lr, halfway in (("0.1 ~> 0.01", 0.055), ("0.1, 0.02 @ 2", 0.02)):
        labels = [record for record in train(build(lr=lr)).records if record["phase"] == "labels"]
        rates = [record["lr"] for record in labels]
        assert rates[0] == pytest.approx(0.1, rel=0.02) and rates[4] == pytest.approx(halfway, rel=0.2)
        assert (rates[3] == 0.1) == ("@" in lr), "the point moved from the second epoch to the fourth"
        steps = [record["label_step"] for record in labels]
        assert steps[0] > steps[3] > steps[7] > 0 and steps[4] == pytest.approx(1.0, rel=0.2)


@pytest.mark.parametrize("lr", ["0.1 ~> 0.01", "0.1, 0.02 @ 2"])
def test_a_run_that_stops_in_it_is_an_unbroken_one(build: Any, train: Any, lr: str) -> None:
    whole = build(lr=lr)
    expected = train(whole).records
    begin = 2 * STEPS
    for stop in (begin - 1, begin, begin + 1, begin + 5 * STEPS, begin + 8 * STEPS):
        tape = train(build(lr=lr), stop_after=stop)
        arrays, meta = tape.saved[-1]
        # What the method would say now does not count: it has been asked.
        again = build(lr=lr, times=2.3 if stop <= begin else 1.0)
        again.restore(arrays, json.loads(json.dumps(meta)))
        assert tape.records + train(again).records == expected
        for name, value in whole.state.export().items():
            assert np.array_equal(again.state.export()[name], value), name
