"""Thresholds moved on a finished run's table."""

import numpy as np
import pyarrow as pa

from pencil.quality.decide import Thresholds
from pencil.quality.thresholds import decide_again, touched_by
from pencil.results.labels_table import build_labels

# Fine; doubtful; surely wrong; trusted against the evidence; chosen by a person; trusted and fine.
QUALITY = [0.9, 0.6, 0.05, 0.2, 0.9, 0.9]
CORRECTED = [0, 0, 1, 0, 1, 0]
TRUSTED = [False, False, False, True, True, True]
TABLE = build_labels(
    class_names=("cat", "dog"), ids=list("abcdef"), given=np.zeros(6, int), corrected=np.array(CORRECTED),
    confidence=np.full(6, 0.9), entropy=np.zeros(6), quality=np.array(QUALITY), network=np.array(CORRECTED),
    changed_at=np.full(6, -1), num_changes=np.zeros(6, int), decision=["review"] * 6, split=["train"] * 6,
    trusted=TRUSTED,
)  # fmt: skip


def test_what_is_known_stands_under_any_threshold() -> None:
    known = ["keep", "relabel", "keep"]
    assert decide_again(TABLE, Thresholds()).tolist() == ["keep", "keep", "relabel", *known]
    assert decide_again(TABLE, Thresholds(keep_quality=0.7)).tolist() == ["keep", "review", "relabel", *known]
    strict = Thresholds(keep_quality=1.0, relabel_confidence=1.0)
    assert decide_again(TABLE, strict).tolist() == ["review"] * 3 + known


def test_where_the_run_was_careful_no_threshold_changes_a_held_out_label_unseen() -> None:
    held_out = TABLE.set_column(TABLE.column_names.index("split"), "split", [["held-out"] * 6])
    known = ["keep", "relabel", "keep"]
    for thresholds in (Thresholds(), Thresholds(relabel_confidence=0.0), Thresholds(relabel_confidence=0.8)):
        assert decide_again(held_out, thresholds, careful=True).tolist() == ["keep", "keep", "review", *known]
        assert decide_again(TABLE, thresholds, careful=True).tolist() == ["keep", "keep", "relabel", *known]
    assert touched_by(held_out, Thresholds(), careful=True)["keep_quality"][0.5]["relabel"] == 1


def test_where_the_run_was_careful_no_threshold_fills_a_gap_unseen() -> None:
    gaps = TABLE.set_column(TABLE.column_names.index("given"), "given", pa.nulls(6, pa.int32()))
    for thresholds in (Thresholds(), Thresholds(relabel_confidence=0.0)):
        assert decide_again(gaps, thresholds).tolist() == ["relabel"] * 6
        assert decide_again(gaps, thresholds, careful=True).tolist() == ["review"] * 3 + ["relabel"] * 3, "less known"


def test_each_choice_is_counted_with_the_other_threshold_as_it_is() -> None:
    counts = touched_by(TABLE, Thresholds(keep_quality=0.7), steps=(0.5, 0.95))
    assert counts == {
        "keep_quality": {
            0.5: {"keep": 4, "relabel": 2, "review": 0},
            0.7: {"keep": 3, "relabel": 2, "review": 1},
            0.95: {"keep": 2, "relabel": 2, "review": 2},
        },
        "relabel_confidence": {
            0.5: {"keep": 3, "relabel": 2, "review": 1},
            0.7: {"keep": 3, "relabel": 2, "review": 1},
            0.95: {"keep": 3, "relabel": 1, "review": 2},
        },
    }
