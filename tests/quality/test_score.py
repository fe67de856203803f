"""Scores of given labels; the numbers are worked out by hand: quality = (1 + margin of the given class in f)/2."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pencil.errors import PencilError
from pencil.quality import score as module
from pencil.quality.score import most_suspect_first, score

LABELS = np.array([[0.1, 0.9, 0.0], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
PREDICTIONS = np.array([[0.0, 1.0, 0.0], [0.2, 0.7, 0.1], [0.2, 0.2, 0.6]])
GIVEN = np.array([0, 0, -1])


def test_a_hand_worked_example() -> None:
    scores = score(LABELS, PREDICTIONS, GIVEN)
    assert scores.corrected.tolist() == [1, 0, 2]
    assert scores.confidence.tolist() == [0.9, 0.6, 0.6]
    # Row 0: margin −1. Row 1: margin −.5, though y^d still favours what was given. Row 2 has no label.
    assert scores.quality[:2] == pytest.approx([0.0, 0.25])
    assert math.isnan(scores.quality[2])
    entropy = -(0.1 * math.log(0.1) + 0.9 * math.log(0.9))
    assert scores.entropy[0] == pytest.approx(entropy)


def test_without_predictions_the_label_is_the_evidence() -> None:
    expected = [(1 + 0.1 - 0.9) / 2, (1 + 0.6 - 0.3) / 2]
    assert score(LABELS, None, GIVEN).quality[:2] == pytest.approx(expected)
    assert score(LABELS, np.zeros_like(LABELS), GIVEN).quality[:2] == pytest.approx(expected)


def test_the_extremes_are_nought_and_one() -> None:
    certain = np.array([[1.0, 0.0], [0.0, 1.0]])
    scores = score(certain, certain, np.array([0, 0]))
    assert scores.quality.tolist() == [1.0, 0.0]
    assert scores.entropy.tolist() == [0.0, 0.0]


def test_a_tie_is_settled_for_the_given_label_and_else_for_the_first_class() -> None:
    tied = np.array([[0.25, 0.375, 0.375]] * 3)
    assert score(tied, None, np.array([2, 1, -1])).corrected.tolist() == [2, 1, 1]
    assert score(tied, None, np.array([2, 1, -1])).quality[:2].tolist() == [0.5, 0.5]


def test_uniform_labels_have_the_entropy_of_the_logarithm() -> None:
    assert score(np.full((1, 4), 0.25), None, np.array([0])).entropy[0] == pytest.approx(math.log(4))


def test_the_inputs_are_left_as_they_were() -> None:
    labels, predictions = LABELS.copy(), PREDICTIONS.copy()
    score(labels, predictions, GIVEN)
    score(labels, None, GIVEN)
    assert np.array_equal(labels, LABELS) and np.array_equal(predictions, PREDICTIONS)


def test_no_examples_give_empty_scores() -> None:
    scores = score(np.zeros((0, 3)), None, np.zeros(0, dtype=np.int64))
    assert len(scores.corrected) == len(scores.quality) == 0


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    labels, predictions = rng.dirichlet(np.ones(3), 20), rng.dirichlet(np.ones(3), 20)
    given = rng.integers(-1, 3, 20)
    whole = score(labels, predictions, given)
    monkeypatch.setattr(module, "_BLOCK", 9)
    parts = score(labels, predictions, given)
    for name in ("corrected", "confidence", "entropy", "quality"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name), equal_nan=True)


def test_the_most_suspect_come_first_and_equals_keep_their_order() -> None:
    quality = np.array([0.5, 0.1, np.nan, 0.5, 0.1, 0.5])
    assert most_suspect_first(quality).tolist() == [1, 4, 0, 3, 5, 2]
    assert most_suspect_first(quality, np.array([0, 0, 9, 2, 1, 0])).tolist() == [4, 1, 3, 0, 5, 2]


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Examples with random label distributions, predictions and given labels."""
    n, c = draw(st.integers(1, 8)), draw(st.integers(2, 5))
    # Quarters and the like make ties frequent.
    weights = arrays(np.float64, (n, c), elements=st.sampled_from([0.0, 0.5, 1.0, 3.0]) | st.floats(0, 10))
    tables = [draw(weights) + np.where(np.arange(c) == draw(st.integers(0, c - 1)), 0.5, 0.0) for _ in range(2)]
    labels, predictions = (table / table.sum(axis=1, keepdims=True) for table in tables)
    return labels, predictions, draw(arrays(np.int64, n, elements=st.integers(-1, c - 1)))


@settings(deadline=None)
@drawn(problems())
def test_scores_stay_in_their_ranges(problem: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    labels, predictions, given = problem
    n, c = labels.shape
    scores = score(labels, predictions, given)
    assert np.array_equal(np.isnan(scores.quality), given < 0)
    known = scores.quality[given >= 0]
    assert np.all((known >= 0) & (known <= 1))
    assert np.all((scores.confidence >= 1 / c - 1e-9) & (scores.confidence <= 1))
    assert np.all((scores.entropy >= 0) & (scores.entropy <= math.log(c) + 1e-9))
    assert np.array_equal(labels[np.arange(n), scores.corrected], labels.max(axis=1))


@settings(deadline=None)
@drawn(problems(), st.randoms(use_true_random=False))
def test_the_order_of_examples_does_not_matter(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray], random: Random
) -> None:
    labels, predictions, given = problem
    order = np.array(random.sample(range(len(given)), len(given)))
    straight, shuffled = score(labels, predictions, given), score(labels[order], predictions[order], given[order])
    for name in ("corrected", "confidence", "entropy", "quality"):
        assert np.array_equal(getattr(straight, name)[order], getattr(shuffled, name), equal_nan=True)


@settings(deadline=None)
@drawn(problems(), st.randoms(use_true_random=False))
def test_the_names_of_classes_do_not_matter(problem: tuple[np.ndarray, np.ndarray, np.ndarray], random: Random) -> None:
    labels, predictions, given = problem
    order = np.array(random.sample(range(labels.shape[1]), labels.shape[1]))
    renamed = np.where(given >= 0, np.argsort(order)[given], -1)
    straight, changed = score(labels, predictions, given), score(labels[:, order], predictions[:, order], renamed)
    assert np.array_equal(straight.quality, changed.quality, equal_nan=True)
    assert np.array_equal(straight.confidence, changed.confidence)
    same = straight.corrected == given
    assert np.array_equal(same[given >= 0], (changed.corrected == renamed)[given >= 0])


@pytest.mark.parametrize(
    ("labels", "predictions", "given", "line"),
    [
        (np.zeros(3), None, GIVEN, "label_distribution has shape"),
        (np.ones((3, 1)), None, GIVEN, "at least two classes"),
        (LABELS, PREDICTIONS[:2], GIVEN, "mean_prediction has shape"),
        (LABELS, None, GIVEN[:2], "give 3 whole numbers"),
        (LABELS, None, GIVEN + 0.5, "give 3 whole numbers"),
        (LABELS, None, np.array([0, 1, 3]), r"labels from 0 to 3; give -1 \(none\) or 0 to 2"),
        (LABELS, None, np.array([0, 1, -2]), "labels from -2 to 1"),
        (LABELS * 2, None, GIVEN, "label_distribution has a row that is no distribution"),
        (LABELS - [0.2, -0.2, 0], None, GIVEN, "label_distribution has a row that is no distribution"),
        (LABELS * [1, np.nan, 1], None, GIVEN, "label_distribution has a row that is no distribution"),
        (LABELS, PREDICTIONS / 2, GIVEN, "mean_prediction has a row that is no distribution"),
        (LABELS, np.full((3, 3), np.inf), GIVEN, "mean_prediction has a row that is no distribution"),
    ],
)
def test_bad_input_is_named(labels: np.ndarray, predictions: np.ndarray | None, given: np.ndarray, line: str) -> None:
    with pytest.raises(PencilError, match=line):
        score(labels, predictions, given)
