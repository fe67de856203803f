"""A class that loses all its examples is named in the log of the run, and in the same words in its report."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import pencil
from pencil.config import read_toml
from pencil.results.folder import RunFolder
from pencil.results.history import History
from pencil.results.labels_table import read_labels, write_labels
from pencil.results.lost_classes import line_of
from pencil.spelling import spelled

from .conftest import MakeRun, read_page, report_of


def line(folder: RunFolder, *names: str) -> str:
    return line_of(names, read_toml(folder.config).get("options", {}))


def test_a_run_names_it_in_its_log_and_its_report(tmp_path: Path) -> None:
    """Three examples called "owl", a name of two lines, that look like every other "cat" cannot be told from them."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(2, 0.1, (63, 4)), rng.normal(-2, 0.1, (60, 4))]).astype(np.float32)
    names = np.array(["cat"] * 60 + ["night\nowl"] * 3 + ["dog"] * 60)
    settings = {"options": {"anchor": 0.0, "label_step": "20"}, "optimizer": {"batch_size": 16}}
    pencil.fit(x, names, out=tmp_path / "run", epochs=(3, 6, 1), backbone="mlp", device="cpu", settings=settings)
    folder = RunFolder(tmp_path / "run")
    assert spelled(line(folder, r"night\nowl")) in folder.log.read_text(), "a log has one line for each"
    warnings = read_page(report_of(folder)).all("p", kind="warning")
    assert [warning.text for warning in warnings] == [line(folder, "night owl")]


def test_many_are_told_of_in_one_line_with_the_setting_that_moves_labels_less(tmp_path: Path) -> None:
    """Five kinds of owls that look like cats: all are lost, most of them before the end."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(2, 0.1, (65, 4)), rng.normal(-2, 0.1, (60, 4))]).astype(np.float32)
    names = np.array(["cat"] * 60 + [f"owl {n}" for n in range(5)] + ["dog"] * 60)
    settings = {"options": {"anchor": 0.0, "label_step": "20"}, "optimizer": {"batch_size": 16}}
    settings["data"] = {"held_out": 0.0}
    pencil.fit(x, names, out=tmp_path / "run", epochs=(3, 6, 1), backbone="mlp", device="cpu", settings=settings)
    folder = RunFolder(tmp_path / "run")
    all_of_them = line(folder, *(f"owl {n}" for n in range(5)))
    assert '"owl 0", "owl 1", "owl 2" and 2 more have lost all their examples' in all_of_them
    assert "--set label_step=NUMBER (this run: 20" in all_of_them
    log = [words for words in folder.log.read_text().splitlines() if "lost all" in words]
    assert log[-1].endswith(spelled(all_of_them)) and len(log) <= 2, "the first that are lost, and all in the end"
    assert [w.text for w in read_page(report_of(folder)).all("p", kind="warning")] == [all_of_them]


def test_where_no_setting_moves_labels_less_none_is_named() -> None:
    assert "--set" not in line_of(["owl"], {}) and line_of(["owl"], {}).endswith("before you use the labels.")
    assert "--set label_lr=NUMBER (this run: 800)" in line_of(["owl"], {"label_lr": "800"})


def test_a_class_that_is_lost_with_the_last_word_is_named_too(tmp_path: Path) -> None:
    """Label learning leaves the two owls undecided; the network, which takes them for cats, speaks last."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(2, 0.1, (62, 4)), rng.normal(-2, 0.1, (60, 4))]).astype(np.float32)
    names = np.array(["cat"] * 60 + ["owl"] * 2 + ["dog"] * 60)
    options = {"anchor": 0.0, "label_step": "1.1"}
    settings = {"options": options, "optimizer": {"batch_size": 16}, "data": {"held_out": 0.0}}
    result = pencil.fit(x, names, out=tmp_path / "run", epochs=(9, 3, 1), device="cpu", settings=settings)
    assert result.history[-1]["lost_classes"] == [] and "owl" not in result.corrected_labels
    folder = RunFolder(tmp_path / "run")
    assert folder.log.read_text().count(spelled(line(folder, "owl"))) == 1
    assert [w.text for w in read_page(report_of(folder)).all("p", kind="warning")] == [line(folder, "owl")]


def test_a_class_that_only_held_out_rows_have_had_nothing_to_lose(tmp_path: Path) -> None:
    """Two held-out owls look like cats, and no training row is called so."""
    table = tmp_path / "t.csv"
    rows = [f"{2 + n / 1000},cat,train\n{-2 - n / 1000},dog,train\n" for n in range(60)]
    table.write_text("size,label,split\n" + "".join(rows) + "2.01,owl,val\n2.02,owl,val\n2.03,cat,val\n")
    settings = {"optimizer": {"batch_size": 16}}
    result = pencil.fit(table, out=tmp_path / "run", epochs=(6, 3, 1), device="cpu", settings=settings)
    assert "owl" not in result.corrected_labels and len(result.corrected_labels) == 123
    folder = RunFolder(tmp_path / "run")
    assert line(folder, "owl") not in folder.log.read_text()
    assert line(folder, "owl") not in [w.text for w in read_page(report_of(folder)).all("p", kind="warning")]


def test_no_class_is_lost_where_all_have_examples(make_run: MakeRun) -> None:
    assert not read_page(report_of(make_run())).all("p", kind="warning")


def test_what_the_labels_end_as_counts_not_what_an_epoch_left(make_run: MakeRun) -> None:
    folder = make_run(names=["a", "<b>", "c"])
    History(folder.history).append({"epoch": 7, "phase": "tuning", "lost_classes": [1]})
    assert not read_page(report_of(folder)).all("p", kind="warning"), "its labels came back with the last word"
    table = read_labels(folder.labels)
    corrected = pc.if_else(pc.equal(table["corrected"], 1), pa.scalar(0, pa.int32()), table["corrected"])
    place = table.column_names.index("corrected")
    write_labels(folder.labels, table.set_column(place, table.schema.field(place), corrected))
    folder.seal(folder.labels)
    assert [w.text for w in read_page(report_of(folder)).all("p", kind="warning")] == [line(folder, "<b>")]


def test_what_a_stranger_wrote_is_no_error(make_run: MakeRun) -> None:
    folder = make_run()
    for value in ("x", [["a"]], [99, -4], {"a": 1}, None):
        History(folder.history).append({"epoch": 7, "phase": "tuning", "lost_classes": value})
        assert not read_page(report_of(folder)).all("p", kind="warning")
