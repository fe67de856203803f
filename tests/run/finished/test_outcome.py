"""What a finished run says of itself is true of the network and the labels that it ends with."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import pencil
from pencil.engine.guard import Guard
from pencil.quality.decide import Thresholds
from pencil.quality.thresholds import decide_again
from pencil.report import make_report
from pencil.results.read import read_run
from pencil.results.summary import in_words, read_summary
from pencil.run.finished import beware


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


@pytest.mark.parametrize("method", ["cross_entropy", "dldl"])
def test_examples_without_a_label_get_the_networks_where_a_method_moves_none(method: str) -> None:
    digits = load_digits()
    hidden = np.arange(len(digits.target)) % 4 == 0
    given = np.where(hidden, -1, digits.target)
    result = pencil.fit(digits.data, given, method=method, epochs=8, device="cpu")
    table = result.labels
    corrected, network = (np.asarray(table[name]) for name in ("corrected", "network"))
    trained = np.asarray(table["split"]) == "train"
    assert (network[hidden] == digits.target[hidden]).mean() > 0.8
    np.testing.assert_array_equal(corrected[hidden & trained], network[hidden & trained])
    assert (np.asarray(table["num_changes"])[hidden] == 0).all()


@pytest.mark.parametrize("method", ["cross_entropy", "pencil"])
def test_a_network_that_knows_too_little_labels_no_example_unseen(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    monkeypatch.setattr("pencil.run.finished.label_rows.beware", lambda *_: "its network knows too little")
    digits = load_digits()
    hidden = np.arange(len(digits.target)) % 4 == 0
    result = pencil.fit(digits.data, np.where(hidden, -1, digits.target), method=method, epochs=8, device="cpu")
    decision = np.asarray(result.labels["decision"])
    assert set(decision[hidden]) == {"review"}
    assert (decide_again(result.labels, Thresholds(), careful=True) == decision).all()


@pytest.mark.parametrize(("agreeing", "told"), [(17, "hint"), (10, "caution"), (26, "")])
def test_what_may_be_chance_is_told_of_and_changes_nothing(
    agreeing: int, told: str, undrawn: None, tmp_path: Path, quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"agreeing": agreeing, "held_out": 30, "kept": 253, "learned": 270}
    monkeypatch.setattr(beware, "_known", lambda plan, history: known)
    y = np.arange(300) % 10
    result = pencil.fit(np.eye(10)[y], y, out=tmp_path / "run", settings=quick, epochs=(1, 1, 1))
    words = result.summary.get(told, "")
    assert {"caution", "hint"} & set(result.summary) == ({told} if told else set())
    shown = dict(in_words(read_summary(tmp_path / "run/result.json")))
    report = make_report(read_run(tmp_path / "run")).html
    assert [name for name in ("careful", "look first") if name in shown] == {
        "hint": ["look first"], "caution": ["careful"], "": [],
    }[told]  # fmt: skip
    assert ("of those it learned: " in report) == bool(told)
    assert (told == "hint") == ("Look at a few before you use them" in words and "of the 30 labels" in report)
    assert beware.has_last_word(None, []) == (told != "caution")  # type: ignore[arg-type]


@pytest.mark.parametrize("weight_decay", [0.001, 1.0])
def test_a_network_of_which_nothing_is_left_is_not_passed_off_as_one(weight_decay: float) -> None:
    """Right labels that nothing has changed, and none held out: only the network itself tells."""
    y = np.arange(300) % 10
    settings = {"data": {"held_out": 0.0}, "optimizer": {"weight_decay": weight_decay}}
    caution = pencil.fit(np.eye(10)[y], y, settings=settings, epochs=12, device="cpu").summary.get("caution", "")
    assert ("knows nothing of its task" in caution) == (weight_decay == 1.0)
