"""Schedules: what is written is what is computed, and what is printed reads back as the same."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pencil.config import Schedule
from pencil.errors import PencilError

NUMBERS = st.floats(min_value=0, max_value=1e9, allow_nan=False)
STEPS = st.builds(
    lambda values, gaps: Schedule("steps", tuple(values), (0.0, *_running_sum(gaps[: len(values) - 1]))),
    st.lists(NUMBERS, min_size=1, max_size=5),
    st.lists(st.floats(min_value=0.01, max_value=1000), min_size=4, max_size=4),
)
ARROWS = st.builds(
    lambda kind, start, end: Schedule(kind, (start, end)), st.sampled_from(["linear", "cosine"]), NUMBERS, NUMBERS
)


def _running_sum(gaps: list[float]) -> list[float]:
    return [sum(gaps[: number + 1]) for number in range(len(gaps))]


@given(STEPS | ARROWS)
def test_printed_schedules_read_back_exactly(schedule: Schedule) -> None:
    assert Schedule.parse(str(schedule)) == schedule


@given(STEPS | ARROWS, st.integers(min_value=1, max_value=300))
def test_a_stretched_schedule_is_the_same_curve_over_the_longer_phase(schedule: Schedule, epochs: int) -> None:
    # Stretching by a power of two is exact in binary, so the curves agree to the bit.
    for moment in (0.0, 0.25, epochs / 3, epochs - 0.5):
        assert schedule.stretched(4).at(4 * moment, 4 * epochs) == schedule.at(moment, epochs)


def test_a_plain_number_is_constant() -> None:
    for text in ("0.08", 0.08, " 0.08 "):
        assert {Schedule.parse(text).at(epoch, 70) for epoch in (0, 0.5, 69.99, 70)} == {0.08}
    assert Schedule.parse(800).at(3, 10) == 800
    assert str(Schedule.parse("800")) == "800"


def test_steps_start_at_their_epoch_not_before() -> None:
    rate = Schedule.parse("0.2, 0.02@40, 0.002@80")
    expected = {0: 0.2, 39: 0.2, 39.999: 0.2, 40: 0.02, 79.5: 0.02, 80: 0.002, 119.9: 0.002}
    assert {epoch: rate.at(epoch, 120) for epoch in expected} == expected


def test_a_label_rate_per_stretch_of_epochs() -> None:
    rate = Schedule.parse("3000, 500@5")
    assert [rate.at(epoch, 10) for epoch in range(10)] == [3000] * 5 + [500] * 5


def test_linear_falls_evenly_and_ends_where_it_says() -> None:
    rate = Schedule.parse("3000 -> 0")
    assert [rate.at(epoch, 130) for epoch in (0, 13, 65, 130)] == pytest.approx([3000, 2700, 1500, 0], abs=1e-9)
    assert rate.at(131, 130) == 0
    assert Schedule.parse("1 -> 3").at(5, 10) == 2


def test_cosine_falls_slowly_then_fast_then_slowly() -> None:
    rate = Schedule.parse("0.1 ~> 0.02")
    for epoch in (0, 3, 10, 17, 20):
        expected = 0.02 + 0.08 * (1 + math.cos(math.pi * epoch / 20)) / 2
        assert rate.at(epoch, 20) == pytest.approx(expected, abs=1e-15)


def test_stretching_moves_drops_but_not_values() -> None:
    short = Schedule.parse("0.2, 0.02@40, 0.002@80").stretched(0.25)
    assert [short.at(epoch, 30) for epoch in (9, 10, 19, 20)] == [0.2, 0.02, 0.02, 0.002]
    assert Schedule.parse("3000 -> 0").stretched(0.5).at(32.5, 65) == 1500


def test_times_multiplies_every_value() -> None:
    assert Schedule.parse("1280, 640@5").times(1 / 1280) == Schedule("steps", (1.0, 0.5), (0.0, 5.0))
    assert Schedule.parse("1280 -> 0").times(1 / 1280).at(0, 7) == 1


@pytest.mark.parametrize(
    "text",
    ["", "fast", "0.1@5", "0.1, 0.2", "0.1, 0.2@", "0.1, 0.2@5, 0.3@5", "0.1, 0.2@5, 0.3@4", "0.1, 0.2@0", "-1",
     "nan", "inf", "1 -> ", "1 -> 2 -> 3", "1 ~> 2 ~> 3", "3 -> 2 ~> 1", "0.1, 0.2@-3", "1 -> 0@5", True, [1, 2]],
)  # fmt: skip
def test_what_is_no_schedule_is_refused_with_the_ways_to_write_one(text: object) -> None:
    with pytest.raises(PencilError, match=r'cannot read the schedule.*"0\.2, 0\.02@40" \(steps\)') as e:
        Schedule.parse(text)  # type: ignore[arg-type]
    assert "\n" not in str(e.value)
