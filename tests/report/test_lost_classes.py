"""A class that loses all its examples is named in the log of the run, and in the same words in its report."""

from pathlib import Path

import numpy as np

import pencil
from pencil.results.folder import RunFolder
from pencil.results.history import History
from pencil.results.lost_classes import line_of

from .conftest import MakeRun, read_page, report_of


def test_a_run_names_it_in_its_log_and_its_report(tmp_path: Path) -> None:
    """Three examples called "owl", a name of two lines, that look like every other "cat" cannot be told from them."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(2, 0.1, (63, 4)), rng.normal(-2, 0.1, (60, 4))]).astype(np.float32)
    names = np.array(["cat"] * 60 + ["night\nowl"] * 3 + ["dog"] * 60)
    settings = {"options": {"anchor": 0.0, "label_step": "20"}, "optimizer": {"batch_size": 16}}
    pencil.fit(x, names, out=tmp_path / "run", epochs=(3, 6, 1), backbone="mlp", device="cpu", settings=settings)
    folder = RunFolder(tmp_path / "run")
    assert line_of(r"night\nowl") in folder.log.read_text(), "a log has one line for each"
    warnings = read_page(report_of(folder)).all("p", kind="warning")
    assert [warning.text for warning in warnings] == [line_of("night owl")]


def test_no_class_is_lost_where_all_have_examples(make_run: MakeRun) -> None:
    assert not read_page(report_of(make_run())).all("p", kind="warning")


def test_labels_that_went_back_have_lost_nothing(make_run: MakeRun) -> None:
    folder = make_run(names=["a", "<b>", "c"])
    History(folder.history).append({"epoch": 7, "phase": "tuning", "lost_classes": [1]})
    assert [w.text for w in read_page(report_of(folder)).all("p", kind="warning")] == [line_of("<b>")]
    History(folder.history).append({"epoch": 8, "phase": "tuning", "lost_classes": [1], "went_back": "harm"})
    assert not read_page(report_of(folder)).all("p", kind="warning")


def test_what_a_stranger_wrote_is_no_error(make_run: MakeRun) -> None:
    folder = make_run()
    for value in ("x", [["a"]], [99, -4], {"a": 1}, None):
        History(folder.history).append({"epoch": 7, "phase": "tuning", "lost_classes": value})
        assert not read_page(report_of(folder)).all("p", kind="warning")
