"""The noise as a whole; counts are worked out by hand, intervals checked against the binomial distribution."""

import math
import time

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pencil.errors import PencilError
from pencil.quality.noise import estimate_noise, questioned

GIVEN = np.array([0, 0, 1, 1, 1, -1, 0, 1])
CORRECTED = np.array([0, 0, 0, 1, 1, 1, 1, 0])


def test_a_hand_worked_example() -> None:
    noise = estimate_noise(GIVEN, CORRECTED, 3)
    assert noise.counts.tolist() == [[2, 2, 0], [1, 2, 0], [0, 0, 0]]
    assert noise.rate == pytest.approx(100 * 3 / 7), "the example without a label does not count"
    assert noise.transition[0].tolist() == [0.5, 0.5, 0.0]
    assert noise.transition[1] == pytest.approx([1 / 3, 2 / 3, 0])
    assert np.isnan(noise.transition[2]).all() and np.isnan(noise.lower[2]).all()
    assert [tuple(pair) for pair in noise.most_confused()] == [
        (0, 1, 2, pytest.approx(50.0)),
        (1, 0, 1, pytest.approx(100 / 3)),
    ]
    assert len(noise.most_confused(1)) == 1


def test_equal_confusions_come_in_the_order_of_classes() -> None:
    noise = estimate_noise(np.array([1, 2, 0]), np.array([0, 0, 2]), 3)
    assert [pair[:2] for pair in noise.most_confused()] == [(0, 1), (0, 2), (2, 0)]


def test_intervals_are_those_of_the_binomial() -> None:
    # 10,000 examples of class 0, a fifth given as 1: the share has standard error √(.2·.8/10000) = .004.
    given = np.repeat([0, 1], [8000, 2000])
    noise = estimate_noise(given, np.zeros(10_000, dtype=np.int64), 2, resamples=4000)
    half = 1.96 * math.sqrt(0.2 * 0.8 / 10_000)
    assert noise.lower[0, 1] == pytest.approx(0.2 - half, abs=0.0008)
    assert noise.upper[0, 1] == pytest.approx(0.2 + half, abs=0.0008)
    assert noise.rate_interval == pytest.approx((20 - 100 * half, 20 + 100 * half), abs=0.08)


def test_the_row_interval_uses_the_rows_own_examples() -> None:
    # Class 1 has 100 of 10,100 examples, half of them given as 0: standard error √(.25/100) = .05.
    given = np.repeat([0, 0, 1], [10_000, 50, 50])
    corrected = np.repeat([0, 1], [10_000, 100])
    noise = estimate_noise(given, corrected, 2, resamples=4000)
    assert noise.upper[1, 0] - noise.lower[1, 0] == pytest.approx(2 * 1.96 * 0.05, rel=0.1)
    assert noise.lower[0].tolist() == noise.upper[0].tolist() == [1.0, 0.0]


def test_the_same_seed_gives_the_same_intervals() -> None:
    first, again, other = (estimate_noise(GIVEN, CORRECTED, 2, seed=seed, resamples=51) for seed in (1, 1, 2))
    assert np.array_equal(first.lower, again.lower) and first.rate_interval == again.rate_interval
    assert not (np.array_equal(first.lower, other.lower) and np.array_equal(first.upper, other.upper))


def test_no_labels_leave_the_rate_open() -> None:
    noise = estimate_noise(np.array([-1, -1]), np.array([0, 1]), 2)
    assert math.isnan(noise.rate) and all(map(math.isnan, noise.rate_interval))
    assert noise.most_confused() == []


def test_the_cost_of_intervals_does_not_grow_with_the_examples() -> None:
    rng = np.random.default_rng(0)
    corrected = rng.integers(0, 10, 2_000_000)
    given = np.where(rng.random(2_000_000) < 0.3, rng.integers(0, 10, 2_000_000), corrected)
    start = time.perf_counter()
    noise = estimate_noise(given, corrected, 10)
    assert time.perf_counter() - start < 2
    # Three tenths are drawn anew, a tenth of those hits the old class.
    assert noise.rate == pytest.approx(27, abs=0.2)


@settings(deadline=None)
@drawn(
    st.integers(2, 4).flatmap(
        lambda c: st.tuples(st.just(c), arrays(np.int64, (2, 12), elements=st.integers(0, c - 1)))
    )
)
def test_rows_are_distributions_inside_their_intervals(problem: tuple[int, np.ndarray]) -> None:
    num_classes, (given, corrected) = problem
    noise = estimate_noise(given, corrected, num_classes, resamples=20)
    filled = np.isin(np.arange(num_classes), corrected)
    assert np.allclose(noise.transition[filled].sum(axis=1), 1)
    assert np.isnan(noise.transition[~filled]).all()
    assert 0 <= noise.rate <= 100 and noise.rate_interval[0] <= noise.rate_interval[1]
    bounds = np.nan_to_num(np.stack([noise.lower, noise.upper]))
    assert np.all((bounds >= 0) & (bounds <= 1)) and np.all(bounds[0] <= bounds[1])


@settings(deadline=None)
@drawn(arrays(np.int64, (2, 12), elements=st.integers(0, 2)), st.permutations(range(12)), st.permutations(range(3)))
def test_order_of_examples_and_names_of_classes_do_not_matter(
    labels: np.ndarray, order: list[int], names: list[int]
) -> None:
    straight = estimate_noise(*labels, 3, resamples=1)
    shuffled = estimate_noise(*labels[:, order], 3, resamples=1)
    assert np.array_equal(straight.transition, shuffled.transition, equal_nan=True)
    assert straight.rate_interval == shuffled.rate_interval
    renamed = estimate_noise(*np.array(names)[labels], 3, resamples=1)
    assert renamed.rate == straight.rate
    assert np.array_equal(renamed.counts[np.ix_(names, names)], straight.counts)


@pytest.mark.parametrize(
    ("given", "corrected", "line"),
    [
        (np.array([0, 2]), np.array([0, 1]), "given has labels from 0 to 2"),
        (np.array([0, 1]), np.array([0, 5]), "corrected has labels from 0 to 5"),
        (np.array([0, 1]), np.array([0]), "corrected has shape"),
        (np.array([0.5]), np.array([0]), "given has shape"),
    ],
)
def test_bad_labels_are_named(given: np.ndarray, corrected: np.ndarray, line: str) -> None:
    with pytest.raises(PencilError, match=line):
        estimate_noise(given, corrected, 2)


def test_at_least_one_resample_is_needed() -> None:
    with pytest.raises(PencilError, match="resamples is 0; give at least 1"):
        estimate_noise(GIVEN, CORRECTED, 2, resamples=0)


def test_labels_that_could_not_be_found_wrong_do_not_count() -> None:
    given, split = np.zeros(10, dtype=np.int64), np.array(["train"] * 8 + ["held-out"] * 2)
    corrected = given.copy()
    corrected[8] = 1
    asked = questioned(given, corrected, split)
    assert estimate_noise(given[asked], corrected[asked], 2).rate == 50.0, "of the two that were held out"
    corrected[0] = 1
    assert questioned(given, corrected, split).all()
    assert questioned(given, given, np.full(10, "train")).all()


def test_no_label_is_questioned_by_a_method_that_moves_none_and_holds_none_out() -> None:
    given = np.arange(10) % 3
    asked = questioned(given, given, np.full(10, "train"), moves=False)
    assert not asked.any() and np.isnan(estimate_noise(given[asked], given[asked], 3).rate)
