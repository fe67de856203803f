"""Keep, relabel or review."""

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from pencil.errors import PencilError
from pencil.quality.decide import Thresholds, count, decide, touched
from pencil.quality.score import Scores, score

GIVEN = np.array([0, 0, 0, 0, -1, -1])
SCORES = Scores(
    corrected=np.array([0, 0, 1, 1, 1, 1]),
    confidence=np.array([0.9, 0.6, 0.9, 0.6, 0.9, 0.6]),
    entropy=np.zeros(6),
    quality=np.array([0.9, 0.4, 0.1, 0.4, np.nan, np.nan]),
)
"""Fine, doubtful, surely wrong, perhaps wrong; without a label: sure, unsure."""


def test_the_three_decisions() -> None:
    expected = ["keep", "review", "relabel", "review", "relabel", "review"]
    assert decide(SCORES, GIVEN).tolist() == expected


def test_trusted_labels_are_kept_whatever_the_evidence() -> None:
    trusted = np.array([True] * 6)
    assert decide(SCORES, GIVEN, trusted=trusted).tolist() == ["keep"] * 4 + ["relabel", "review"]


@pytest.mark.parametrize(
    ("thresholds", "expected"),
    [
        (Thresholds(keep_quality=0.4), {"keep": 2, "relabel": 2, "review": 2}),
        (Thresholds(keep_quality=0.95), {"keep": 0, "relabel": 1, "review": 5}),
        (Thresholds(relabel_confidence=0.6), {"keep": 1, "relabel": 4, "review": 1}),
        (Thresholds(relabel_confidence=1.0), {"keep": 1, "relabel": 0, "review": 5}),
    ],
)
def test_moving_a_threshold_moves_what_is_touched(thresholds: Thresholds, expected: dict[str, int]) -> None:
    assert touched(SCORES, GIVEN, thresholds) == expected


def test_counts_name_every_decision() -> None:
    assert count(np.array(["keep", "keep"])) == {"keep": 2, "relabel": 0, "review": 0}


def test_the_labels_of_pencils_fixed_point_are_decided() -> None:
    # Code form at c = 10, a = 1 under a confident network: .10 stays on the given class, .90 moves.
    moved = np.full((1, 10), 0.0)
    moved[0, [3, 5]] = 0.1, 0.9
    confident = np.eye(10)[[5]]
    given = np.array([3])
    assert decide(score(moved, confident, given), given).tolist() == ["relabel"]
    # Paper form: one half each, which can never be relabelled unseen.
    moved[0, [3, 5]] = 0.5, 0.5
    assert decide(score(moved, confident, given), given).tolist() == ["review"]


@settings(deadline=None)
@drawn(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_raising_a_threshold_only_ever_adds_to_review(
    keep: float, more: float, confidence: float, higher: float
) -> None:
    low = decide(SCORES, GIVEN, Thresholds(keep_quality=min(keep, more), relabel_confidence=min(confidence, higher)))
    high = decide(SCORES, GIVEN, Thresholds(keep_quality=max(keep, more), relabel_confidence=max(confidence, higher)))
    assert np.all((high == "review") | (high == low))


@pytest.mark.parametrize("name", ["keep_quality", "relabel_confidence"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_thresholds_are_shares(name: str, value: float) -> None:
    with pytest.raises(PencilError, match=f"{name} is {value}; give a number from 0 to 1"):
        Thresholds(**{name: value})


def test_scores_and_labels_of_different_examples_are_refused() -> None:
    with pytest.raises(PencilError, match="give the same examples"):
        decide(SCORES, GIVEN[:3])
