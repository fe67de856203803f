"""What a finished run says of itself is true of the network and the labels that it ends with."""

from pathlib import Path
from typing import Any

import pytest

import pencil
from pencil.engine.guard import Guard


def test_where_the_last_epoch_went_back_a_run_tells_of_the_network_it_went_back_to(
    tmp_path: Path, quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Guard, "judge", lambda guard, record, *others: "harm" if record["epoch"] == 4 else "")
    settings = quick | {
        "optimizer": {"batch_size": 128, "nonfinite_limit": 1.0},
        "phases": {"labels": {"lr": "0.05, 20@1"}},
        "options": {"label_step": "20"},
    }
    result = pencil.fit("digits", out=tmp_path / "run", settings=settings, epochs=(3, 2, 0))

    kept, gone = result.history[-2:]
    assert "went_back" in gone and gone["test_accuracy"] < kept["test_accuracy"] - 20, "the last epoch did harm"
    assert result.summary["test_accuracy"]["last"] == pytest.approx(kept["test_accuracy"], abs=1e-3)
    assert "caution" not in result.summary, "the network that is kept knows its task"
