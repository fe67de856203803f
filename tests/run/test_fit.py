"""pencil.fit: from data to a finished run folder, stopped and resumed, on digits with wrong labels."""

import gc
import json
import math
import signal
import warnings
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import datasets
import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load_file
from sklearn.datasets import load_digits
from torch.utils.data import TensorDataset

import pencil
from pencil import recipes
from pencil.config import from_document, merge, read_toml
from pencil.data import from_arrays, from_torch
from pencil.errors import PencilError
from pencil.estimator.training import _plan
from pencil.results.folder import RunFolder
from pencil.results.read import read_run
from pencil.run.finished import label_rows
from pencil.run.finished.predict import predict_run
from pencil.run.planning.plan import plan
from pencil.run.train import Interrupted
from pencil.run.training.session import Silent

EPOCHS = (6, 6, 2)


class Stopping(Silent):
    """Asks to stop after so many steps, as a signal does; keeps what it was told."""

    def __init__(self, after: int) -> None:
        self.after, self.steps, self.notes = after, 0, []

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.steps += 1
        if self.steps == self.after:
            import os
            import signal

            os.kill(os.getpid(), signal.SIGINT)

    def note(self, line: str) -> None:
        self.notes.append(line)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Any:
    settings = {
        "backbone": "mlp",
        "backbone_options": {"hidden": 64, "depth": 1},
        "optimizer": {"batch_size": 64},
        "hardware": {"device": "cpu", "threads": 1},
        "options": {"label_step": "2.5 -> 0"},
        # A perceptron takes images for rows, and needs the rate of these.
        "phases": {"backbone": {"lr": 0.05}, "labels": {"lr": 0.05}, "tuning": {"lr": "0.05 ~> 0"}},
    }
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("runs") / "run"
    return settings, pencil.fit("digits", out=out, settings=settings, epochs=EPOCHS, noise="symmetric:0.4", seed=3)


def test_the_labels_get_better(finished: Any) -> None:
    _, result = finished
    summary = result.summary
    accuracy = summary["label_accuracy"]
    assert accuracy["given"] == pytest.approx(64, abs=4), "40% drawn anew, a tenth of them right again"
    assert accuracy["corrected"] > accuracy["given"] + 15
    assert summary["test_accuracy"]["last"] > 75
    assert summary["num_changed"] > 100
    assert (summary["method"], summary["dataset"], summary["seed"], summary["num_classes"]) == (
        "pencil",
        "digits",
        3,
        10,
    )


def test_the_summary_agrees_with_the_rows(finished: Any) -> None:
    _, result = finished
    table = {name: np.array(result.labels[name].to_pylist(), dtype=object) for name in result.labels.column_names}
    train = table["split"] == "train"
    assert train.sum() == result.summary["num_examples"]
    assert (~train).sum() == result.summary["num_held_out"] > 0
    # Of training and held-out examples together.
    assert (table["given"] != table["corrected"]).sum() == result.summary["num_changed"]
    assert (table["decision"] != "keep").sum() == result.summary["num_suspect"]
    for name in ("given", "corrected"):
        correct = 100 * np.mean((table[name] == table["clean"])[train])
        assert result.summary["label_accuracy"][name] == pytest.approx(correct, abs=1e-3)
    y = result.label_distributions
    assert y.shape == (len(table["id"]), 10)
    np.testing.assert_allclose(y.sum(-1), 1, atol=1e-5)
    assert y.argmax(-1).tolist() == table["corrected"].tolist() == result.corrected_labels.tolist()
    np.testing.assert_allclose(y.max(-1), table["confidence"].astype(float), atol=1e-6)
    last = result.history[-1]
    assert result.summary["test_accuracy"]["last"] == pytest.approx(last["test_accuracy"], abs=1e-3)
    best = max(result.history, key=lambda record: record["held_out_accuracy"])
    assert result.summary["test_accuracy"]["best"] == pytest.approx(best["test_accuracy"], abs=1e-3)
    # Learned labels are those of the last epoch; the network then settles some that were on their way.
    settled = train & (table["changed_at"] == sum(EPOCHS) - 1)
    same = (table["corrected"] == table["clean"])[train & ~settled].sum()
    learned = round(last["label_accuracy"] * train.sum() / 100)
    assert 0 < settled.sum() < 0.2 * train.sum() and same <= learned <= same + settled.sum()
    assert (table["corrected"] == table["network"])[settled].mean() > 0.8
    assert len(result.history) == sum(EPOCHS)
    # A label that ended elsewhere than it began must have changed.
    moved = train & (table["given"] != table["corrected"])
    assert (table["num_changes"][moved].astype(int) > 0).all()
    assert all(changed in {*range(6, 12), 13} for changed in table["changed_at"][moved]), "the label phase, or the end"


def test_the_settings_in_the_folder_repeat_the_run(finished: Any, tmp_path: Path) -> None:
    _, result = finished
    document = read_toml(result.folder / "config.toml")
    assert plan(None, document).settings == from_document(document)
    again = pencil.fit(settings=document, out=tmp_path / "again")
    for name in ("model.safetensors", "label_distributions.safetensors", "labels.parquet", "config.toml"):
        assert (tmp_path / "again" / name).read_bytes() == (result.folder / name).read_bytes(), name
    assert np.array_equal(again.label_distributions, result.label_distributions)


@pytest.mark.parametrize("stops", [[1], [53], [21, 60, 13]], ids=str)
def test_stopped_and_resumed_runs_end_the_same_to_the_bit(finished: Any, stops: list[int], tmp_path: Path) -> None:
    settings, result = finished
    out = tmp_path / "run"
    for number, stop in enumerate(stops):
        progress = Stopping(stop)
        with pytest.raises(Interrupted, match="pencil train --resume --out"):
            if number == 0:
                pencil.fit("digits", out=out, settings=settings, epochs=EPOCHS, noise="symmetric:0.4", seed=3, progress=progress)  # fmt: skip  # noqa: E501
            else:
                pencil.fit(out=out, resume=True, progress=progress)
        assert json.loads((out / "status.json").read_text())["state"] == "stopped"
        assert any("checkpoint is being saved" in note for note in progress.notes)
        # A kill can leave the record of an epoch that no checkpoint holds: it will be trained again.
        with (out / "history.jsonl").open("a") as file:
            file.write('{"epoch": 99}\n')
    resumed = pencil.fit(out=out, resume=True)
    for name in ("model.safetensors", "label_distributions.safetensors", "labels.parquet", "config.toml"):
        assert (out / name).read_bytes() == (result.folder / name).read_bytes(), name
    timeless = [
        [{k: v for k, v in record.items() if k not in ("seconds", "images_per_second")} for record in run.history]
        for run in (resumed, result)
    ]
    assert timeless[0] == timeless[1]
    assert json.loads((out / "status.json").read_text())["state"] == "finished"


def test_a_stopped_run_of_arrays_says_how_python_goes_on(tmp_path: Path, quick: dict[str, Any]) -> None:
    x, y = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32), np.arange(200) % 2
    how: dict[str, Any] = {"settings": quick, "epochs": (1, 1, 1)}
    with pytest.raises(Interrupted, match=r"stopped; nothing is kept of a run without out"):
        pencil.fit(x, y, progress=Stopping(1), **how)
    with pytest.raises(Interrupted, match=r"pencil\.fit\(…, out='.*run', resume=True\)"):
        pencil.fit(x, y, out=tmp_path / "run", progress=Stopping(1), **how)
    with pytest.raises(PencilError, match=r"the data of the run in .*run was given in Python; give it again"):
        pencil.fit(out=tmp_path / "run", resume=True)
    assert len(pencil.fit(x, y, out=tmp_path / "run", resume=True).corrected_labels) == 200


def test_a_run_that_goes_on_with_something_else_says_what_it_was_trained_with(
    tmp_path: Path, quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32), np.arange(200) % 2
    per_epoch = math.ceil(200 * 0.9 / quick["optimizer"]["batch_size"])
    for sitting, commit in enumerate(["first", "first", "second"]):
        monkeypatch.setenv("PENCIL_COMMIT", commit)
        how = {"resume": True} if sitting else {"settings": quick, "epochs": (2, 2, 2)}
        with pytest.raises(Interrupted):
            pencil.fit(x, y, out=tmp_path / "run", progress=Stopping(per_epoch), **how)
    monkeypatch.setenv("PENCIL_COMMIT", "third")
    made = pencil.fit(x, y, out=tmp_path / "run", resume=True).summary["environment"]
    assert made["commit"] == "third"
    assert [(each["commit"], each["until_epoch"]) for each in made["earlier"]] == [("first", 2), ("second", 3)]
    assert made["earlier"][0]["torch"] == version("torch")
    assert made["recipe_version"] == recipes.version("auto")


def test_a_run_killed_while_its_outcome_is_written_again_is_not_taken_for_damaged(
    tmp_path: Path, quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFolder(tmp_path / "run")
    pencil.fit(*few(), out=run.path, settings=quick, epochs=(1, 1, 1))
    run.set_state("running")  # As where it was killed just before it would have said that it is finished.
    monkeypatch.setenv("PENCIL_COMMIT", "another")  # What it goes on with is in its result.
    with patch.object(RunFolder, "seal", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        pencil.fit(*few(), out=run.path, resume=True)
    assert pencil.fit(*few(), out=run.path, resume=True).run.status.state == "finished"


def test_a_run_that_goes_on_with_edited_code_of_ones_own_says_so(
    tmp_path: Path, quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = "from torch import nn\ndef make(spec, num_classes, **_):\n    return nn.Linear(spec.shape[0], num_classes)\n"
    x, y = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32), np.arange(200) % 2
    per_epoch = math.ceil(200 * 0.9 / quick["optimizer"]["batch_size"])
    kept = []
    for sitting, text in enumerate([code, code, f"{code}# Otherwise.\n"]):
        Path("mine.py").write_text(text)
        how = {"resume": True} if sitting else {"settings": quick, "epochs": (2, 2, 2)}
        progress = Stopping(per_epoch)
        with pytest.raises(Interrupted):
            pencil.fit(x, y, out="run", backbone="mine.py:make", progress=progress, **how)
        kept.append([note for note in progress.notes if "mine.py:make has changed" in note])
    assert [len(notes) for notes in kept] == [0, 0, 1]
    made = pencil.fit(x, y, out="run", backbone="mine.py:make", resume=True).summary["environment"]
    before = made["earlier"][0]["own_code"]
    assert list(made["own_code"]) == ["mine.py:make"] == list(before)
    assert made["own_code"] != before and len(made["earlier"]) == 1


def test_a_run_says_what_its_noise_means(tmp_path: Path, quick: dict[str, Any]) -> None:
    x, y = np.random.default_rng(0).normal(size=(80, 4)).astype(np.float32), np.arange(80) % 2
    pencil.fit(x, y, out=tmp_path / "run", settings=quick, epochs=(1, 1, 1), noise="symmetric:0.4")
    noise = json.loads((tmp_path / "run" / "split.json").read_text())["noise"]
    assert noise["spec"] == "symmetric:0.4" and "the true one included" in noise["convention"]
    assert 0 < noise["measured_percent"] < 40


def test_a_finished_run_resumes_to_itself(finished: Any) -> None:
    _, result = finished
    before = {p.name: p.stat().st_mtime_ns for p in result.folder.iterdir() if p.is_file() and p.name != "lock"}
    again = pencil.fit(out=result.folder, resume=True)
    assert again.summary == result.summary
    after = {p.name: p.stat().st_mtime_ns for p in result.folder.iterdir() if p.is_file() and p.name != "lock"}
    assert after == before
    weights = result.model.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in again.model.state_dict().items())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"seed": 4}, r"other settings \(seed\)"),
        ({"noise": "symmetric:0.2"}, r"other settings \(data\.noise\)"),
        ({"settings": {"options": {"anchor": 0.1}}}, r"options\.anchor"),
        ({"epochs": (6, 6, 4)}, r"phases\.tuning\.epochs"),
        ({"precision": "64-true"}, r"hardware\.precision"),
    ],
)
def test_a_run_is_not_resumed_with_other_settings(finished: Any, more: dict[str, Any], message: str) -> None:
    _, result = finished
    with pytest.raises(PencilError, match=message):
        pencil.fit(out=result.folder, resume=True, **more)


def test_a_run_is_not_resumed_with_other_data(tmp_path: Path, quick: dict[str, Any]) -> None:
    x, y = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32), np.arange(200) % 2
    with pytest.raises(Interrupted):
        pencil.fit(x, y, out=tmp_path / "run", settings=quick, epochs=(2, 2, 2), progress=Stopping(2))
    with pytest.raises(PencilError, match="the data has changed"):
        pencil.fit(x + 1, y, out=tmp_path / "run", resume=True)
    with pytest.raises(PencilError):
        pencil.fit(out=tmp_path / "run", resume=True)
    # Under the same ids, one number that is another; an earlier version's run cannot know.
    ids = from_arrays(x, y).train.ids
    other = np.where(np.arange(200)[:, None] == 7, x + np.array([9, 0, 0, 0]), x).astype(np.float32)
    with pytest.raises(PencilError, match="the data has changed"):
        pencil.fit(from_arrays(other, y, ids=ids), out=tmp_path / "run", resume=True)
    assert len(pencil.fit(x, y, out=tmp_path / "run", resume=True).history) == 6


def test_nothing_is_overwritten_and_nothing_half_made_is_left(finished: Any, tmp_path: Path, quick: Any) -> None:
    _, result = finished
    with pytest.raises(PencilError):
        pencil.fit("digits", out=result.folder, settings=quick)
    with pytest.raises(PencilError, match="hidden"):
        pencil.fit("digits", out=tmp_path / "run", settings=merge(quick, {"backbone_options": {"hidden": 0}}))
    assert not (tmp_path / "run").exists()
    with pytest.raises(PencilError, match="resume=True needs the run's folder"):
        pencil.fit(resume=True)


def test_arrays_without_a_folder(quick: dict[str, Any]) -> None:
    loaded = load_digits()
    x, y = (loaded.data[:300] / 16).astype(np.float32), loaded.target[:300].copy()
    y[::7] = -1
    result = pencil.fit(x, y, settings=quick, epochs=(10, 4, 2), method="pencil")
    assert result.folder.is_dir()
    assert not result.model.training
    rows = result.labels.to_pylist()
    assert len(rows) == 300
    # In the order they were given, with a class for each, labelled or not.
    truth = loaded.target[:300]
    corrected = result.corrected_labels
    assert [row["index"] for row in rows] == list(range(300))
    missing = np.array([row["given"] is None or row["given"] < 0 for row in rows])
    assert missing.tolist() == (np.arange(300) % 7 == 0).tolist()
    assert (corrected == truth).mean() > 0.7
    assert (corrected == truth)[missing].mean() > 0.5


def test_another_recipe_beside_the_settings_of_a_whole_run_is_refused(finished: Any, tmp_path: Path) -> None:
    _, result = finished
    whole = read_toml(result.folder / "config.toml")
    with pytest.raises(PencilError, match="all in them that the recipe auto sets, so that fast would change nothing"):
        pencil.fit("digits", out=tmp_path / "run", settings=whole, recipe="fast")
    few_of_them = {"recipe": "auto", "optimizer": {"batch_size": 32}}
    assert plan("digits", merge(few_of_them, {"recipe": "fast"})).settings.optimizer.batch_size == 32


def few(count: int = 60) -> tuple[Any, Any]:
    rows, labels = load_digits(return_X_y=True)
    return rows[:count].astype(np.float32), labels[:count]


def test_a_program_around_python_keeps_signals_that_are_its_own(
    quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What Python says of handlers that were there before it, such as those of R or Julia.
    monkeypatch.setattr(signal, "getsignal", lambda number: None)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        pencil.fit(*few(), settings=quick, epochs=[1, 1, 1])
    finally:
        assert signal.signal(signal.SIGTERM, before) is signal.SIG_DFL


def test_a_device_may_be_torchs_own(quick: dict[str, Any]) -> None:
    del quick["hardware"]["device"]
    pencil.fit(*few(), settings=quick, epochs=[1, 1, 1], device=torch.device("cpu"))


def test_numbers_of_numpy_are_numbers(quick: dict[str, Any], tmp_path: Path) -> None:
    more = {
        "backbone_options": {"hidden": np.int64(16), "depth": 1},
        "options": {"anchor": np.float32(0.5)},
        "teaching": {"guard": np.bool_(False)},
    }
    how: Any = {"settings": merge(quick, more), "out": tmp_path / "run", "seed": np.int64(5)}
    pencil.fit(*few(), epochs=[1, 1, 1], **how)
    saved = read_toml(tmp_path / "run" / "config.toml")
    assert (saved["seed"], saved["options"]["anchor"], saved["teaching"]["guard"]) == (5, 0.5, False)
    pencil.fit(*few(), resume=True, **how)


@pytest.mark.parametrize("option", [[None, 1], torch.nn.GELU])
def test_an_option_that_no_file_can_hold_is_refused_before_anything_is_written(option: Any, tmp_path: Path) -> None:
    """Its run's settings could not be read again, after all of the training."""

    def made(spec: Any, num_classes: int, *, act: Any) -> torch.nn.Module:
        return torch.nn.Linear(spec.shape[0], num_classes)

    with pytest.raises(PencilError, match=r"backbone_options\.act is .*, which no file of settings can hold"):
        pencil.fit(*few(), backbone=made, settings={"backbone_options": {"act": option}}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_tables_in_a_list_of_options_are_kept(tmp_path: Path) -> None:
    def made(spec: Any, num_classes: int, *, blocks: Any) -> torch.nn.Module:
        widths = [spec.shape[0], *(block["width"] for block in blocks), num_classes]
        return torch.nn.Sequential(*(torch.nn.Linear(a, b) for a, b in pairwise(widths)))

    options = {"blocks": [{"width": np.int64(4)}, {"width": 3}]}
    pencil.fit(*few(), backbone=made, settings={"backbone_options": options}, out=tmp_path / "run", epochs=[1, 0, 0])
    assert pencil.load(tmp_path / "run", backbone=made).model[0].out_features == 4


@pytest.mark.parametrize("settings", ["config.toml", ["optimizer"], 3])
def test_settings_that_are_no_dictionary_are_refused(settings: Any, tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=r"settings is .*; give a dict"):
        pencil.fit(*few(), settings=settings, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_torch_is_left_as_it_was(quick: dict[str, Any]) -> None:
    torch.set_num_threads(2)
    torch.manual_seed(7)
    wanted = torch.rand(3)
    torch.manual_seed(7)
    pencil.fit(*few(), settings=quick, epochs=[1, 1, 1])
    assert torch.get_num_threads() == 2
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.parametrize(
    "mode", [torch.no_grad, torch.inference_mode, lambda: torch.device("meta")], ids=["no_grad", "inference", "meta"]
)
def test_the_callers_modes_change_nothing(mode: Any, quick: dict[str, Any]) -> None:
    plain = pencil.fit(*few(), settings=quick, epochs=[1, 2, 1])
    with mode():
        other = pencil.fit(*few(), settings=quick, epochs=[1, 2, 1])
    assert all(torch.equal(value, other.model.state_dict()[name]) for name, value in plain.model.state_dict().items())


def test_numbers_may_be_of_64_bits_where_none_are_asked_for(quick: dict[str, Any], tmp_path: Path) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        result = pencil.fit(*few(), settings=quick, epochs=[1, 1, 1], out=tmp_path / "run")
        predict_run(tmp_path / "run", from_arrays(*few()))
    finally:
        torch.set_default_dtype(torch.float32)
    assert {value.dtype for value in result.model.state_dict().values()} == {torch.float32}


@pytest.mark.parametrize("terms", [[1, 2, 3], [0, 5, 10], ["ant", "bee", "cat"]], ids=str)
@pytest.mark.parametrize("as_torch", [False, True], ids=["arrays", "torch"])
def test_corrected_labels_are_in_the_terms_of_the_given_ones(
    terms: list[Any], as_torch: bool, quick: dict[str, Any], tmp_path: Path
) -> None:
    truth = np.arange(90) % 3
    x = (np.random.default_rng(0).normal(size=(90, 4)) + 4 * np.eye(4)[truth]).astype(np.float32)
    y = np.array(terms)[truth]
    source: Any = from_torch(list(zip(torch.from_numpy(x), y.tolist(), strict=True))) if as_torch else (x, y)
    result = pencil.fit(source, settings=quick, epochs=(6, 2, 1), out=tmp_path / "run")
    assert (result.corrected_labels == y).mean() > 0.9
    assert result.corrected_labels.dtype.kind == y.dtype.kind
    again = pencil.fit(source, resume=True, out=tmp_path / "run")
    assert (again.corrected_labels == result.corrected_labels).all()
    named = from_arrays(x, truth, class_names=[str(term) for term in terms])
    counted = pencil.fit(named, settings=quick, epochs=(6, 2, 1)).corrected_labels
    assert (counted == truth).mean() > 0.9, "with class names, labels count classes"


def test_one_number_of_epochs_is_a_total_as_the_classifiers_is(quick: dict[str, Any], tmp_path: Path) -> None:
    x, y = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32), np.arange(60) % 2
    result = pencil.fit(x, y, settings=quick, epochs=6, out=tmp_path / "run")
    assert len(result.history) == 6 and {record["phase"] for record in result.history} > {"labels"}
    asked = _plan(pencil.data.from_arrays(x, y), quick, 6)
    settings = from_document(read_toml(result.folder / "config.toml"))
    assert (settings.phases, settings.options) == (asked.settings.phases, asked.settings.options)
    child = pencil.fit(x, y, settings=quick, epochs=np.int64(3), start_from=result.folder)
    assert len(child.history) == 3
    assert len(pencil.fit(x, y, epochs=6, out=result.folder, resume=True).history) == 6
    with pytest.raises(PencilError, match="resume=True goes on with the run's own lengths, 6 epochs in all; leave"):
        pencil.fit(x, y, epochs=7, out=result.folder, resume=True)


@pytest.mark.parametrize("epochs", [0, -1, 2.5, "5", [1.5, 1, 1], None])
def test_epochs_that_are_no_number_are_refused(quick: dict[str, Any], epochs: Any, tmp_path: Path) -> None:
    epochs = [None, 1, 1] if epochs is None else epochs
    with pytest.raises(PencilError, match=r"epochs is .*give a whole number, at least 1, or one for each phase"):
        pencil.fit("digits", settings=quick, epochs=epochs, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_missing_labels_are_counted_and_minus_one_is_named_as_one(quick: dict[str, Any], tmp_path: Path) -> None:
    x, y = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32), np.arange(60) % 3 - 1
    result = pencil.fit(x, y, settings=quick, epochs=(1, 1, 1), out=tmp_path / "run")
    assert "20 of 56 training labels are missing (empty, or -1 in arrays)." in (tmp_path / "run/log.txt").read_text()
    with pytest.raises(PencilError, match="Labels that are -1 count as missing"):
        pencil.fit(x, np.where(y == 1, 1, -1), settings=quick)
    for other in (7, object()):
        with pytest.raises(PencilError, match=r"no data can be read from an object of type (int|object); .* an array"):
            predict_run(result.folder, other)


def test_cross_entropy_leaves_the_labels(tmp_path: Path, quick: dict[str, Any]) -> None:
    result = pencil.fit("digits", method="cross_entropy", out=tmp_path / "run", settings=quick, epochs=(2,))
    rows = result.labels.to_pylist()
    assert all(row["corrected"] == row["given"] for row in rows if row["split"] == "train")
    assert result.summary["num_changed"] == sum(r["corrected"] != r["given"] for r in rows)


@pytest.mark.parametrize(("method", "epochs"), [("forward_estimated", (8, 2)), ("joint_optimization", (6, 2, 0))])
def test_the_best_epoch_is_one_of_the_network_that_is_kept(
    method: str, epochs: tuple[int, ...], quick: dict[str, Any], tmp_path: Path
) -> None:
    result = pencil.fit("digits", method=method, out=tmp_path / "run", settings=quick, epochs=epochs)
    # A phase of no epochs begins with no new network.
    kept = result.history[-2:] if epochs[-1] else result.history
    best = max(kept, key=lambda epoch: epoch["held_out_accuracy"])
    found = result.summary["test_accuracy"]
    assert found == {
        "best": pytest.approx(best["test_accuracy"], abs=1e-4),
        "last": pytest.approx(kept[-1]["test_accuracy"], abs=1e-4),
    }


def test_a_finished_run_predicts(finished: Any) -> None:
    _, result = finished
    predictions = predict_run(result.folder, "digits", device="cpu")
    truth = plan("digits", {}).dataset.test
    assert truth is not None
    assert predictions.ids.tolist() == truth.ids.tolist()
    np.testing.assert_allclose(predictions.probabilities.sum(-1), 1, atol=1e-5)
    accuracy = 100 * (predictions.probabilities.argmax(-1) == truth.given).mean()
    assert accuracy == pytest.approx(result.summary["test_accuracy"]["last"], abs=1e-3)


def test_the_papers_runs_end_with_the_labels_they_learned(quick: dict[str, Any], tmp_path: Path) -> None:
    recipe = "paper/cifar10-asymmetric-30"
    asked = {"noise": "symmetric:0.4", "recipe": recipe, "epochs": (4, 12, 2)}
    result = pencil.fit("digits", out=tmp_path / "run", settings=quick, **asked)
    assert result.summary["num_changed"] > 50
    learned = result.history[-1]["label_accuracy"]
    assert result.summary["label_accuracy"]["corrected"] == pytest.approx(learned, abs=1e-3)


def test_right_labels_are_kept_where_they_were_held_out_from_a_weak_network(quick: dict[str, Any]) -> None:
    asked = merge(quick, {"data": {"held_out": 0.3}, "backbone_options": {"hidden": 3}})
    rows = pencil.fit("digits", settings=asked, epochs=(6, 6, 2)).labels.to_pylist()
    held_out = [row for row in rows if row["split"] == "held-out"]
    misjudged = [row for row in held_out if row["network"] != row["given"]]
    assert len(misjudged) > 0.1 * len(held_out), "it is weak"
    changed = [row for row in misjudged if row["corrected"] != row["given"]]
    assert len(changed) < 0.5 * len(misjudged) and all(row["decision"] != "keep" for row in misjudged)


def test_unknown_names_are_answered(quick: dict[str, Any]) -> None:
    with pytest.raises(PencilError, match=r'no argument or setting "sede"\. Did you mean "seed"'):
        pencil.fit("digits", settings=quick, sede=3)


def test_labels_known_to_be_right_stay_and_are_marked_held_out_or_not(tmp_path: Path) -> None:
    digits = load_digits()
    x, given = digits.data[:300].astype(np.float32), (digits.target[:300] + np.arange(300) % 2) % 10
    trusted = np.arange(300) % 3 == 0
    made = pencil.data.from_arrays(x, given, trusted=trusted)
    settings = {"backbone": "mlp", "hardware": {"device": "cpu", "threads": 1}, "data": {"held_out": 0.3}}
    rows = pencil.fit(made, out=tmp_path / "run", settings=settings, epochs=(2, 2, 1)).labels.to_pylist()
    known = [row for row in rows if row["trusted"]]
    assert len(known) == 100 and {row["split"] for row in known} == {"train", "held-out"}
    assert any(row["network"] != row["given"] for row in known if row["split"] == "held-out")
    assert all(row["corrected"] == row["given"] and row["decision"] == "keep" for row in known)
    assert all(row["confidence"] > 0.99 and row["quality"] == 1 for row in known)


def test_a_label_that_the_network_contradicts_is_not_kept_unseen(quick: dict[str, Any], tmp_path: Path) -> None:
    noise = {"data": {"noise": "symmetric:0.4"}}
    result = pencil.fit(
        "digits", out=tmp_path / "run", settings=merge(quick, noise), method="cross_entropy", epochs=[4]
    )
    rows = result.labels.to_pylist()
    doubted = [row for row in rows if row["network"] != row["given"]]
    assert 0.2 * len(rows) < len(doubted) < 0.8 * len(rows)
    assert all((row["quality"] < 0.5) == (row["decision"] != "keep") for row in rows)
    kept = [row for row in doubted if row["decision"] == "keep"]
    assert len(kept) < 0.15 * len(doubted), "where it only came to doubt in the end"
    trained = [row for row in rows if row["split"] == "train"]
    assert all(row["corrected"] == row["given"] for row in trained), "labels that do not move hide nothing"


def test_quality_hears_the_network_over_label_learning_and_at_the_end(
    quick: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = []

    def score(label: Any, mean: Any, given: Any) -> Any:
        heard.append(mean)
        return real(label, mean, given)

    real = label_rows.score
    monkeypatch.setattr(label_rows, "score", score)
    out = tmp_path / "run"
    pencil.fit("digits", out=out, settings=quick, epochs=EPOCHS, noise="symmetric:0.4", held_out=0.0)
    kept = load_file(max((out / "checkpoint").glob("*.safetensors")))
    before = kept["table.prediction_sum"] / kept["table.predictions"][:, None]
    after = 2 * np.concatenate(heard) - before
    assert np.allclose(after.sum(-1), 1, atol=1e-4) and after.min() > -1e-4
    found = read_run(out).labels["network"].to_numpy()
    assert (after.argmax(-1) == found).mean() > 0.99
    assert np.abs(after - before).max() > 0.05, "they differ, so both were heard"


@pytest.mark.parametrize(
    ("source", "labels", "line"),
    [
        ("digits", "labels.csv", r"labels is 'labels.csv'; .*settings=\{'data': \{'labels': 'labels.csv'\}\}"),
        (np.zeros((10, 3)), Path("labels.csv"), "labels is 'labels.csv'; give an array beside an array"),
        ("digits", np.arange(10), "labels are given beside 'digits', which has its own; leave them out"),
        (TensorDataset(torch.zeros(9, 2)), np.arange(9), "beside a TensorDataset, which has its own; leave them out"),
        (datasets.Dataset.from_dict({"a": [1, 2]}), [0, 1], "beside a Dataset, which has its own; leave them out"),
    ],
)
def test_labels_beside_a_source_are_those_of_an_array(source: Any, labels: Any, line: str, tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=line):
        pencil.fit(source, labels, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_column_of_labels_is_named_beside_a_hugging_face_dataset(tmp_path: Path) -> None:
    x, y = load_digits(return_X_y=True)
    rows = datasets.Dataset.from_dict(
        {"x": x[:200].tolist(), "digit": y[:200].tolist(), "kind": (y[:200] > 4).tolist()}
    )
    result = pencil.fit(rows, "kind", out=tmp_path / "run", epochs=(1, 1, 1), device="cpu")
    assert result.corrected_labels.dtype == bool and len(result.corrected_labels) == 200
    assert pencil.load(tmp_path / "run").predict(rows.remove_columns("kind")).shape == (200,)
    with pytest.raises(PencilError, match=r'no column "kin"\. Did you mean "kind"'):
        pencil.fit(rows, "kin")


def test_what_a_person_should_know_is_a_warning_where_nothing_else_is_shown() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(600, 20))).assign(label=random.integers(4, size=600), nothing=np.nan)
    with pytest.warns(UserWarning) as heard:
        result = pencil.fit(frame, "label", device="cpu")
    said = [str(warning.message) for warning in heard]
    assert said == ['the column "nothing" is empty and is left out.', result.summary["caution"]]
    assert {Path(warning.filename) for warning in heard} == {Path(__file__)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pencil.fit(frame, "label", epochs=(1, 1, 1), device="cpu", progress=Silent())


@pytest.mark.parametrize(("wrong", "right"), [("epoch", "epochs"), ("devise", "device"), ("optimiser", "optimizer")])
def test_an_argument_that_there_is_not_is_named_with_the_one_that_is_meant(wrong: str, right: str) -> None:
    with pytest.raises(PencilError, match=f'no argument or setting "{wrong}". Did you mean "{right}"'):
        pencil.fit("digits", **{wrong: 1})


def test_a_folder_that_nobody_named_is_gone_with_the_result_without_a_word() -> None:
    x, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = pencil.fit(x[:100], y[:100], epochs=(1, 1, 1), device="cpu")
        folder = result.folder
        assert (folder / "result.json").exists()
        with patch("sys.unraisablehook") as heard:  # What goes wrong while an object ends.
            del result
            gc.collect()
        assert not folder.exists() and not heard.called
