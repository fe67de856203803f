"""`pencil export` writes the final labels for other tools, with one line for a person."""

from pathlib import Path

import pytest

from .conftest import QUICK, Command


@pytest.fixture
def run(pencil: Command, rows: Path) -> Path:
    assert pencil("train", rows, "--out", "run", *QUICK).code == 0
    return Path("run")


def test_labels_are_written_and_counted(pencil: Command, run: Path) -> None:
    ended = pencil("export", run, "--to", "csv", "--out", "labels.csv")
    assert (ended.code, ended.out) == (0, "120 labels written to labels.csv\n"), ended.err
    assert len(Path("labels.csv").read_text().splitlines()) == 121


def test_bad_input_is_one_line(pencil: Command, run: Path) -> None:
    Path("taken").mkdir()
    for arguments, named in (
        (["--to", "cvs", "--out", "new"], '"csv"'),
        (["--to", "csv", "--out", "taken"], "already exists"),
        (["--to", "csv", "--out", "no/where"], "does not exist"),
        (["--to", "image_folder", "--out", "new"], "rows of a table"),
        (["--to", "csv"], "--out"),
    ):
        ended = pencil("export", run, *arguments)
        assert ended.code == 2 and named in ended.line, ended.err
    assert not Path("new").exists()


def test_the_run_must_be_one(pencil: Command, place: Path) -> None:
    assert "does not exist" in pencil("export", "nowhere", "--to", "csv", "--out", "new").line
