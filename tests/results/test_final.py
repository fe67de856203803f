"""People's decisions come first, then the run's; doubt stays visible."""

import numpy as np
import pyarrow as pa

from pencil.results.final import count_sources, final_labels
from pencil.results.labels_table import build_labels

CLASSES = ("ant", "bee", "cat")


def table() -> pa.Table:
    count = 5
    return build_labels(
        class_names=CLASSES, ids=["a", "b", "c", "d", "e"], given=[0, 0, 0, -1, 0], corrected=[0, 1, 1, 2, 1],
        confidence=np.ones(count), entropy=np.zeros(count), quality=np.zeros(count), network=np.zeros(count, int),
        changed_at=np.full(count, -1), num_changes=np.zeros(count, int),
        decision=["keep", "relabel", "review", "review", "relabel"], split=["train"] * count,
    )  # fmt: skip


def test_each_decision_has_its_label_and_says_where_it_comes_from() -> None:
    final = final_labels(table(), CLASSES, {"e": 2})
    assert final["final"].to_pylist() == [0, 1, 0, None, 2]
    assert final["final_name"].to_pylist() == ["ant", "bee", "ant", None, "cat"]
    assert final["source"].to_pylist() == ["given", "relabelled", "undecided", "undecided", "reviewed"]
    assert count_sources(final) == {"reviewed": 1, "relabelled": 1, "given": 1, "undecided": 2}


def test_moved_thresholds_replace_the_runs_decisions_but_not_peoples() -> None:
    final = final_labels(table(), CLASSES, {"a": 2}, np.array(["relabel", "keep", "relabel", "relabel", "review"]))
    assert final["final"].to_pylist() == [2, 0, 1, 2, 0]
    assert final["source"].to_pylist() == ["reviewed", "given", "relabelled", "relabelled", "undecided"]
