"""`pencil train` writes the whole run folder, repeats a run, and says what it does."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from .conftest import QUICK, Command, listing, write_rows

FILES = {
    "config.toml", "result.json", "history.jsonl", "labels.parquet", "label_distributions.safetensors",
    "model.safetensors", "classes.json", "preprocessing.json", "split.json", "checkpoint", "status.json", "lock",
    "report.html", "pictures", "checksums.json", "log.txt",
}  # fmt: skip


@pytest.mark.usefixtures("drawn")
def test_a_run_folder_has_every_file(pencil: Command, rows: Path) -> None:
    ended = pencil("train", rows, "--out", "run", *QUICK)
    assert ended.code == 0, ended.err
    assert {path.name for path in Path("run").iterdir()} == FILES
    assert json.loads(Path("run/status.json").read_text())["state"] == "finished"
    assert len(Path("run/history.jsonl").read_text().splitlines()) == 3


def test_the_summary_says_what_came_out_and_where_it_is(pencil: Command, rows: Path) -> None:
    ended = pencil("train", rows, "--out", "run", *QUICK)
    for word in (
        "test accuracy",
        "correct labels",
        "labels changed",
        "suspects",
        "estimated noise",
        "run",
        "pencil predict",
    ):
        assert word in ended.out


def test_progress_is_a_plain_line_where_there_is_no_terminal(pencil: Command, rows: Path) -> None:
    last = pencil("train", rows, "--out", "run", *QUICK).err.splitlines()[-1]
    assert last.startswith("phase 3/3 tuning, epoch 3/3: loss ")
    for word in ("given labels", "held out", "test", "changed", "correct labels", "examples/s"):
        assert word in last
    assert "\x1b" not in last


@pytest.mark.usefixtures("drawn")
def test_quiet_shows_nothing(pencil: Command, rows: Path) -> None:
    ended = pencil("train", rows, "--out", "run", "--quiet", *QUICK)
    assert (ended.code, ended.out, ended.err) == (0, "", "")


@pytest.mark.usefixtures("drawn")
def test_json_is_the_whole_of_stdout(pencil: Command, rows: Path) -> None:
    ended = pencil("train", rows, "--out", "run", "--json", *QUICK)
    assert json.loads(ended.out) == json.loads(Path("run/result.json").read_text())


def test_held_out_examples_have_rows_too(pencil: Command, rows: Path) -> None:
    pencil("train", rows, "--out", "run", "--held-out", "0.25", *QUICK)
    splits = pq.read_table("run/labels.parquet")["split"].to_pylist()
    assert (splits.count("train"), splits.count("held-out")) == (90, 30)


def test_a_run_is_repeated_from_its_own_settings(pencil: Command, rows: Path) -> None:
    pencil("train", rows, "--out", "first", "--noise", "symmetric:0.3", "--seed", "5", *QUICK)
    again = pencil("train", "--config", "first/config.toml", "--out", "second")
    assert again.code == 0, again.err
    for name in ("config.toml", "label_distributions.safetensors", "model.safetensors", "labels.parquet"):
        assert (Path("first") / name).read_bytes() == (Path("second") / name).read_bytes(), name


def test_another_recipe_than_that_of_a_runs_own_settings_is_refused(pencil: Command, rows: Path) -> None:
    pencil("train", rows, "--out", "first", *QUICK)
    ended = pencil("train", "--config", "first/config.toml", "--recipe", "fast", "--out", "second")
    assert ended.code == 2 and "so that fast would change nothing" in ended.err
    assert not Path("second").exists()


def test_what_annotators_were_taught_is_told(pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pencil.run.training.estimate.SAMPLE_SECONDS", 0.2)
    told = "20 annotators, each taught "
    asked = ("train", rows, "--out", "run", "--noise", "crowd:0.3", *QUICK)
    assert f"with noise crowd:0.3 ({told}" in pencil(*asked, "--dry-run").out
    ended = pencil(*asked)
    assert ended.code == 0, ended.err
    assert f"noise crowd:0.3: {told}" in ended.err
    assert f"noise crowd:0.3: {told}" in Path("run/log.txt").read_text()


def test_later_layers_win(pencil: Command, rows: Path) -> None:
    Path("mine.toml").write_text(
        'seed = 1\n[optimizer]\nbatch_size = 16\nmomentum = 0.5\n[options]\nlabel_step = "0.2"\n'
    )
    arguments = ("--config", "mine.toml", "--seed", "2", "--set", "optimizer.batch_size=32", "--set", "label_lr=50")
    ended = pencil("train", rows, "--out", "run", *arguments, *QUICK)
    assert ended.code == 0, ended.err
    settings = tomllib.loads(Path("run/config.toml").read_text())
    assert settings["seed"] == 2
    assert settings["optimizer"] == settings["optimizer"] | {"batch_size": 32, "momentum": 0.5}
    assert settings["options"]["label_lr"] == "50" and "label_step" not in settings["options"]


def test_a_dry_run_shows_each_name_in_one_line(pencil: Command, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pencil.run.training.estimate.SAMPLE_SECONDS", 0.2)
    names = ["a\nb", "c\x1b[31m", "d\u2028e", "été"]
    write_rows(place / "rows.npz", y=np.array(names)[np.arange(120) % 4], clean=None, x_test=None, y_test=None)
    ended = pencil("train", "rows.npz", "--out", "run", "--dry-run", *QUICK)
    assert ended.code == 0, ended.err
    assert "classes    4: a\\nb, c\\x1b[31m, d\\u2028e, été\n" in ended.out


def test_a_dry_run_counts_the_epochs_that_most_labels_being_wrong_would_add(
    pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pencil.run.training.estimate.estimate_seconds", lambda plan, machine: float(plan.epochs))
    ended = pencil("train", rows, "--dry-run")
    assert "labels: 40 epochs (up to 100 where most labels are wrong)" in ended.out, ended.err
    assert "time       at most about 2:00 (3:00 where most labels are wrong), from" in ended.out
    assert "time       about 0:03, from" in pencil("train", rows, "--dry-run", "--epochs", "1,1,1").out


@pytest.mark.parametrize("shape", ["text", "json"])
def test_a_dry_run_describes_and_writes_nothing(
    pencil: Command, rows: Path, place: Path, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pencil.run.training.estimate.SAMPLE_SECONDS", 0.2)
    before = listing(place)
    ended = pencil("train", rows, "--out", "run", "--dry-run", *QUICK, *(["--json"] if shape == "json" else []))
    assert ended.code == 0, ended.err
    assert listing(place) == before
    if shape == "json":
        facts = json.loads(ended.out)
        assert facts["examples"] == {"train": 108, "held_out": 12, "test": 30}
        assert facts["seconds"] > 0 and facts["parameters"] > 0
        return
    for word in (
        "108 train, 12 held out, 30 test",
        "3: 0, 1, 2",
        "mlp",
        "parameters",
        "labels: 1 epochs",
        "CPU",
        "about 0:0",
    ):
        assert word in ended.out


def test_a_folder_that_is_called_as_a_source_is(pencil: Command, place: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (place / "digits" / name).mkdir(parents=True)
        for number in range(10):
            pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / "digits" / name / f"{number}.png")
    whole = str(place / "digits")
    for given, named in {"./digits": "./digits", "digits/": "./digits", whole: whole}.items():
        shown = json.loads(pencil("train", given, "--dry-run", "--json", *QUICK).out)
        assert (shown["source"], shown["classes"]) == (named, ["cat", "dog"])
    assert len(json.loads(pencil("train", "digits", "--dry-run", "--json", *QUICK).out)["classes"]) == 10
