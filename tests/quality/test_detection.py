"""Wrong labels found, on examples counted by hand."""

import numpy as np
import pytest

from pencil.errors import PencilError
from pencil.quality.detection import measure_detection
from pencil.quality.score import Scores


def scores(corrected: list[int], quality: list[float]) -> Scores:
    nothing = np.zeros(len(corrected))
    return Scores(np.array(corrected), nothing, nothing, np.array(quality))


GIVEN = np.array([0, 0, 0, 0, -1, 1])
CLEAN = np.array([0, 1, 1, 0, 0, -1])
SCORES = scores([0, 1, 0, 1, 0, 0], [0.9, 0.1, 0.6, 0.4, np.nan, 0.0])
DECISIONS = np.array(["keep", "relabel", "keep", "review", "relabel", "review"])
"""Four count: right and kept, wrong and found, wrong and missed, right and flagged."""


def test_a_hand_worked_example() -> None:
    found = measure_detection(SCORES, GIVEN, DECISIONS, CLEAN)
    assert (found.num_examples, found.num_wrong) == (4, 2)
    assert found.label_accuracy == {"given": 50.0, "corrected": 50.0}
    assert found.suspect == {"precision": 50.0, "recall": 50.0, "f1": 50.0}
    assert found.changed == {"precision": 50.0, "recall": 50.0, "f1": 50.0}
    # Of the four pairs of a wrong and a right label, three rank the wrong one lower: .1 < .9, .1 < .4, .6 < .9.
    assert found.auroc == pytest.approx(3 / 4)
    # Wrong labels stand at ranks 1 and 3: precisions 1 and 2/3.
    assert found.auprc == pytest.approx((1 + 2 / 3) / 2)


def test_suspicion_and_change_are_measured_apart() -> None:
    found = measure_detection(
        scores([0, 1, 0], [0.8, 0.2, 0.3]),
        np.array([0, 0, 0]),
        np.array(["keep", "relabel", "review"]),
        np.array([0, 1, 1]),
    )
    assert found.suspect == {"precision": 100.0, "recall": 100.0, "f1": 100.0}
    assert found.changed == {"precision": 100.0, "recall": 50.0, "f1": pytest.approx(200 / 3)}
    assert found.label_accuracy == {"given": pytest.approx(100 / 3), "corrected": pytest.approx(200 / 3)}
    assert found.auroc == 1.0 and found.auprc == 1.0


def test_equal_qualities_tell_nothing_apart() -> None:
    found = measure_detection(
        scores([0, 0, 0, 0], [0.5] * 4), np.zeros(4, dtype=np.int64), np.array(["keep"] * 4), np.array([0, 1, 0, 0])
    )
    assert found.auroc == 0.5 and found.auprc == 0.25
    assert found.suspect == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


@pytest.mark.parametrize("true", [0, 1])
def test_areas_need_both_right_and_wrong_labels(true: int) -> None:
    found = measure_detection(
        scores([0, 0], [0.5, 0.4]), np.array([0, 0]), np.array(["keep", "keep"]), np.array([true, true])
    )
    assert found.auroc is None and found.auprc is None


def test_bad_input_is_named() -> None:
    with pytest.raises(PencilError, match="no example has both a given and a true label"):
        measure_detection(SCORES, GIVEN, DECISIONS, np.full(6, -1))
    with pytest.raises(PencilError, match="clean has shape"):
        measure_detection(SCORES, GIVEN, DECISIONS, CLEAN[:2])
    with pytest.raises(PencilError, match="given has labels from -3"):
        measure_detection(SCORES, GIVEN - 2, DECISIONS, CLEAN)
    with pytest.raises(PencilError, match="there are 2 decisions for 6 examples"):
        measure_detection(SCORES, GIVEN, DECISIONS[:2], CLEAN)
