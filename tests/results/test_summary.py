"""result.json."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pencil.errors import PencilError
from pencil.results.summary import Summary, in_words, read_summary, write_summary

REQUIRED: dict[str, Any] = {
    "method": "pencil", "dataset": "digits", "seed": 3, "num_examples": 1797, "num_held_out": 200, "num_classes": 10,
    "num_changed": 300, "num_suspect": 320, "estimated_noise_rate": 16.694491, "seconds": 12.34567,
    "images_per_second": 41712.345, "environment": {"python": "3.12.1"},
}  # fmt: skip


def test_fields_are_rounded_and_absent_where_they_do_not_apply(tmp_path: Path) -> None:
    written = write_summary(tmp_path / "result.json", Summary(**REQUIRED))
    assert written == json.loads((tmp_path / "result.json").read_text())
    assert set(written) == set(REQUIRED)
    assert written["estimated_noise_rate"] == 16.6945
    assert written["seconds"] == 12.346
    assert written["images_per_second"] == 41712.3


def test_accuracies_are_plain_percent(tmp_path: Path) -> None:
    summary = Summary(
        **REQUIRED,
        test_accuracy={"best": np.float64(93.28), "last": 93.1},
        label_accuracy={"given": 100 * 2 / 3, "corrected": 99},
    )
    written = write_summary(tmp_path / "result.json", summary, extra={"backbone": "mlp"})
    assert written["test_accuracy"] == {"best": 93.28, "last": 93.1}
    assert written["label_accuracy"] == {"given": 66.6667, "corrected": 99.0}
    assert written["backbone"] == "mlp"


def test_a_number_that_is_not_defined_is_null(tmp_path: Path) -> None:
    summary = Summary(**REQUIRED | {"estimated_noise_rate": float("nan")}, test_accuracy={"best": None, "last": 90.0})
    write_summary(tmp_path / "result.json", summary)
    fields = json.loads((tmp_path / "result.json").read_text())
    assert fields["estimated_noise_rate"] is None
    assert fields["test_accuracy"] == {"best": None, "last": 90.0}
    assert read_summary(tmp_path / "result.json") == fields
    assert ("estimated noise", "–") in in_words(fields)


def test_keys_are_sorted_so_that_two_results_compare_line_by_line(tmp_path: Path) -> None:
    write_summary(tmp_path / "result.json", Summary(**REQUIRED))
    keys = list(json.loads((tmp_path / "result.json").read_text()))
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("field", "value"),
    [("num_changed", None), ("num_held_out", "200"), ("num_changed", 1.5), ("method", 3), ("seconds", "1"),
     ("environment", []), ("test_accuracy", 90.0), ("label_accuracy", {"given": "much", "corrected": 1.0})],
)  # fmt: skip
def test_a_damaged_field_is_named(tmp_path: Path, field: str, value: object) -> None:
    path = tmp_path / "result.json"
    fields = write_summary(path, Summary(**REQUIRED))
    assert read_summary(path) == fields
    path.write_text(json.dumps(fields | {field: value}))
    with pytest.raises(PencilError, match=rf"result.json is damaged .its {field}"):
        read_summary(path)
