"""`pencil report`, and the page that `pencil train` leaves behind."""

import contextlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from pencil.cli import run as command_line

from .conftest import QUICK, Command, listing, write_rows

pytestmark = pytest.mark.usefixtures("drawn")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run and its data."""
    folder = tmp_path_factory.mktemp("trained")
    write_rows(folder / "rows.npz")
    # Long enough that some labels are suspect.
    lengths = ("--epochs", "6,10,2")
    assert (
        command_line(["train", str(folder / "rows.npz"), "--out", str(folder / "run"), "--quiet", *QUICK, *lengths])
        == 0
    )
    assert json.loads((folder / "run" / "result.json").read_text())["num_suspect"] > 0
    return folder


@pytest.fixture
def run(trained: Path, place: Path) -> Path:
    """A copy of the run."""
    shutil.copytree(trained / "run", place / "run")
    return Path("run")


@pytest.fixture
def trained_here(place: Path) -> Path:
    """A folder with a run that was started in it, and the data that the run names by a relative path."""
    folder = place / "project"
    folder.mkdir()
    write_rows(folder / "rows.npz")
    with contextlib.chdir(folder):
        assert command_line(["train", "rows.npz", "--out", "runs/run", "--quiet", *QUICK]) == 0
    return folder


def test_training_leaves_a_report_which_can_be_made_again(pencil: Command, trained: Path) -> None:
    run = trained / "run"
    made = (run / "report.html").read_bytes()
    result = json.loads((run / "result.json").read_text())
    assert f"{result['test_accuracy']['last']:.1f}%" in made.decode()
    ended = pencil("report", run, "--out", "again.html")
    assert (ended.code, ended.out, ended.err) == (0, "written to again.html\n", "")
    assert Path("again.html").read_bytes() == made


def test_data_that_moved(pencil: Command, run: Path, place: Path) -> None:
    config = run / "config.toml"
    config.write_text(re.sub(r'source = ".*rows.npz"', 'source = "gone/rows.npz"', config.read_text()))
    (run / "checksums.json").unlink()
    (place / "elsewhere").mkdir()
    write_rows(place / "elsewhere" / "rows.npz")
    ended = pencil("report", run, "--out", "without.html")
    assert ended.code == 0 and "shows no examples" in ended.line and "--root" in ended.line
    ended = pencil("report", run, "--root", "elsewhere", "--out", "with.html")
    assert (ended.code, ended.err) == (0, "")
    assert "not shown" in Path("without.html").read_text() and "not shown" not in Path("with.html").read_text()
    ended = pencil("report", run, "--root", "nowhere", "--out", "third.html")
    assert ended.code == 2 and ended.line and not Path("third.html").exists()


def test_a_report_that_fails_never_loses_the_run(pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError("no\nluck")

    monkeypatch.setattr("pencil.report.make_report", broken)
    ended = pencil("train", rows, "--out", "run", *QUICK, "--quiet")
    assert ended.code == 0
    assert "report could not be made (no luck)" in ended.line and "pencil report run" in ended.line
    assert json.loads(Path("run/status.json").read_text())["state"] == "finished"
    assert Path("run/result.json").exists() and not Path("run/report.html").exists()


def test_stopping_while_the_report_is_made_leaves_a_finished_run(
    pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pencil.report.make_report", stopped)
    ended = pencil("train", rows, "--out", "run", *QUICK, "--quiet")
    assert ended.code == 130 and "the run is finished" in ended.line and "pencil report run" in ended.line
    assert json.loads(Path("run/status.json").read_text())["state"] == "finished"


def test_images_are_in_the_page(pencil: Command, place: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    x = (rng.integers(0, 60, (60, 8, 8)) + 60 * y[:, None, None]).astype(np.uint8)
    wrong = np.where(np.arange(60) % 5 == 0, (y + 1) % 3, y)
    write_rows(place / "images.npz", x=x, y=wrong, clean=y, x_test=None, y_test=None)
    ended = pencil("train", "images.npz", "--out", "run", *QUICK)
    assert ended.code == 0, ended.err
    suspects = json.loads(Path("run/result.json").read_text())["num_suspect"]
    assert Path("run/report.html").read_text().count("data:image/png;base64,") == min(suspects, 24) > 0


def test_only_the_runs_own_report_is_replaced(pencil: Command, run: Path, place: Path) -> None:
    (place / "table.csv").write_text("mine")
    ended = pencil("report", run, "--out", "table.csv")
    assert (ended.code, ended.line) == (2, "pencil: table.csv already exists; choose another --out.")
    assert Path("table.csv").read_text() == "mine"
    (run / "report.html").write_text("old")
    assert pencil("report", run, "--out", run / "report.html").code == 0
    assert (run / "report.html").read_text() != "old"


def test_a_report_that_shows_examples_is_kept_where_they_cannot_be_shown(
    pencil: Command, trained: Path, place: Path
) -> None:
    shutil.copytree(trained / "run", place / "run")
    status, config = Path("run/status.json"), Path("run/config.toml")
    status.write_text(json.dumps(json.loads(status.read_text()) | {"started_in": []}))
    config.write_text(re.sub(r'source = ".*rows.npz"', 'source = "gone/rows.npz"', config.read_text()))
    Path("run/checksums.json").unlink()
    before = listing(place)
    ended = pencil("report", "run")
    assert ended.code == 2 and "run/report.html shows examples and is kept" in ended.line
    assert "--root" in ended.line and listing(place) == before
    ended = pencil("report", "run", "--out", "without.html")
    assert ended.code == 0 and "shows no examples" in ended.line
    Path("without.html").rename("run/report.html")
    assert pencil("report", "run").code == 0


def test_data_is_found_from_any_folder_and_where_all_was_moved(
    pencil: Command, trained_here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (trained_here / "runs/run/report.html").read_text()
    shutil.move(trained_here, "moved")
    Path("moved/else/where").mkdir(parents=True)
    monkeypatch.chdir("moved/else/where")
    ended = pencil("report", "../../runs/run", "--out", "report.html")
    assert (ended.code, ended.err) == (0, "")
    shown = '<dl class="values">'
    assert Path("report.html").read_text().count(shown) == made.count(shown) > 0
    ended = pencil("export", "../../runs/run", "--to", "hf_dataset", "--out", "exported")
    assert ended.code == 0, ended.err
    ended = pencil("train", "--resume", "--out", "../../runs/run", "--quiet")
    assert (ended.code, ended.err) == (0, "")
    ended = pencil("train", "--from", "../../runs/run", "--out", "next", *QUICK, "--quiet")
    assert ended.code == 0, ended.err
    assert Path("next/report.html").exists()


def test_data_is_found_where_only_the_run_was_moved(pencil: Command, trained_here: Path, place: Path) -> None:
    shutil.move(trained_here / "runs/run", "run")
    ended = pencil("report", "run")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("file", ["status.json", "result.json", "labels.parquet", "history.jsonl", "config.toml"])
def test_a_damaged_run_gets_one_line(pencil: Command, run: Path, file: str) -> None:
    (run / file).write_bytes(b"{\n\xff\n{}\n")
    ended = pencil("report", run, "--out", "out.html")
    assert ended.code == 2 and file in ended.line and not Path("out.html").exists()


@pytest.mark.parametrize(
    ("out", "words"), [("missing/report.html", "missing does not exist; make it first"), (".", ". is a folder")]
)
def test_a_place_that_cannot_be_written_gets_one_line(pencil: Command, run: Path, out: str, words: str) -> None:
    ended = pencil("report", run, "--out", out)
    assert ended.code == 2 and words in ended.line
