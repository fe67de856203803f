"""Runs get a folder of their own, pictures, and a place in the list of runs."""

import io
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pencil.cli import main

from .conftest import QUICK, Command, write_rows


def test_runs_are_numbered_where_no_folder_is_named(pencil: Command, rows: Path) -> None:
    for number in (1, 2):
        ended = pencil("train", rows, *QUICK)
        assert ended.code == 0, ended.err
        assert f"the run goes to runs/rows-{number}" in ended.err.splitlines()[0]
        assert f"runs/rows-{number}" in ended.out
    Path("runs/rows-7").mkdir()
    assert "runs/rows-8" in pencil("train", rows, "--quiet", *QUICK).line
    ended = pencil("train", "--from", "runs/rows-2", "--quiet", "--epochs", "1,1,1")
    assert ended.code == 0 and "runs/rows-9" in ended.line


def test_a_refused_run_leaves_no_folder(pencil: Command, place: Path) -> None:
    write_rows(place / "rows.npz", y=None)
    ended = pencil("train", "rows.npz", *QUICK)
    assert ended.code == 2 and "runs/" not in ended.line
    assert not Path("runs").exists()


def test_several_processes_must_be_told_their_folder(
    pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    ended = pencil("train", rows, *QUICK)
    assert ended.code == 2 and "--out" in ended.line
    assert not Path("runs").exists()


def test_a_method_that_is_told_more_has_a_star(pencil: Command) -> None:
    noisy = ("digits", "--noise", "symmetric:0.4", "--backbone", "mlp", "--epochs", "1")
    for method in ("forward", "lq"):
        ended = pencil("train", *noisy, "--method", method, "--out", f"runs/{method}")
        assert ended.code == 0, ended.err
    listed = [line.split() for line in pencil("runs").out.splitlines()[1:]]
    assert [words[2:4] for words in listed] == [["forward", "*"], ["lq", "digits"]]
    found = {row["run"]: row["result"] for row in json.loads(pencil("runs", "--json").out)}
    assert found["runs/forward"]["extra_information"] == "the true transition matrix"
    assert "extra_information" not in found["runs/lq"]


@pytest.mark.usefixtures("drawn")
def test_pictures_lie_beside_the_report(pencil: Command) -> None:
    ended = pencil("train", "digits", "--noise", "symmetric:0.6", *QUICK)
    assert ended.code == 0, ended.err
    pictures = Path("runs/digits-1/pictures")
    assert {file.name for file in pictures.iterdir()} == {"curves.png", "confusion.png", "suspects.png"}
    for file in pictures.iterdir():
        image = np.asarray(Image.open(file).convert("L"))
        assert min(image.shape) > 150 and image.std() > 5, f"{file} is empty"
    (pictures / "curves.png").unlink()
    assert pencil("report", "runs/digits-1").code == 0
    assert (pictures / "curves.png").exists()


def test_runs_lists_figures(pencil: Command, rows: Path) -> None:
    assert pencil("train", rows, *QUICK).code == 0
    assert (
        pencil("train", rows, "--out", "runs/deep/er", "--method", "cross_entropy", *QUICK[2:], "--epochs", "1").code
        == 0
    )
    Path("runs/broken").mkdir()
    Path("runs/broken/status.json").write_text("{}")
    result = json.loads(Path("runs/rows-1/result.json").read_text())
    ended = pencil("runs")
    assert ended.code == 0, ended.err
    lines = {line.split()[0]: line for line in ended.out.splitlines()}
    assert set(lines) == {"run", "runs/rows-1", "runs/deep/er", "runs/broken"}
    cells = re.split(r"  +", lines["runs/rows-1"].strip())
    assert cells[1:4] == ["finished", "pencil", "rows"]
    assert cells[4:7] == [
        f"{result['test_accuracy']['last']:.1f}%",
        f"{result['label_accuracy']['given']:.1f}%",
        f"{result['label_accuracy']['corrected']:.1f}%",
    ]
    assert cells[7:9] == [str(result["num_changed"]), str(result["num_suspect"])]
    assert "cross_entropy" in lines["runs/deep/er"] and "damaged" in lines["runs/broken"]
    listed = {row["run"]: row for row in json.loads(pencil("runs", "--json").out)}
    assert listed["runs/rows-1"]["result"] == result


def test_no_runs(pencil: Command, place: Path) -> None:
    ended = pencil("runs")
    assert ended.code == 2 and "pencil train" in ended.line
    Path("runs").mkdir()
    assert "no runs" in pencil("runs").out


def test_a_killed_run_is_shown_as_stopped(pencil: Command, rows: Path, warm: Callable[..., object]) -> None:
    long = warm("train", rows, "--epochs", "100000,1,1", *QUICK[2:])
    status = Path("runs/rows-1/history.jsonl")
    for _ in range(600):
        if status.exists() and status.stat().st_size:
            break
        time.sleep(0.1)
    assert json.loads(pencil("runs", "--json").out)[0]["state"] == "running"
    os.kill(long.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    long.wait()  # type: ignore[attr-defined]
    assert json.loads(pencil("runs", "--json").out)[0]["state"] == "stopped"


def test_a_name_in_brackets_is_shown_whole(pencil: Command, place: Path) -> None:
    for name in ("tried [new]", "[red]"):
        (place / "runs" / name).mkdir(parents=True)
        (place / "runs" / name / "status.json").write_text("{}")
    shown = pencil("runs").out
    assert "runs/tried [new]  damaged" in shown and "runs/[red]" in shown


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_files_and_pipes_get_any_name_whatever_the_language_of_the_system(
    place: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    Path("größe → ü").mkdir()
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit) as ended:
        main(["runs", "größe → ü"])
    assert ended.value.code == 0
    assert stream.buffer.getvalue().decode().startswith("größe → ü holds no runs")  # type: ignore[attr-defined]
