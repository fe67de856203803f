"""`pencil export` writes the final labels for other tools, with one line for a person."""

from pathlib import Path

import pytest

from .conftest import Command
from .test_bad_input import image_folder


def test_labels_are_written_and_counted(pencil: Command, trained: Path) -> None:
    ended = pencil("export", trained, "--to", "csv", "--out", "labels.csv")
    assert (ended.code, ended.out) == (0, "120 labels written to labels.csv\n"), ended.err
    assert len(Path("labels.csv").read_text().splitlines()) == 121


def test_bad_input_is_one_line(pencil: Command, trained: Path) -> None:
    Path("taken").mkdir()
    for arguments, named in (
        (["--to", "cvs", "--out", "new"], '"csv"'),
        (["--to", "csv", "--out", "taken"], "already exists"),
        (["--to", "csv", "--out", "no/where"], "does not exist"),
        (["--to", "image_folder", "--out", "new"], "rows of a table"),
        (["--to", "csv", "--out", "q.parquet"], "use --to parquet, or an --out that ends in .csv."),
        (["--torch-export", "--out", "q.onnx"], "use --onnx, or an --out that ends in .pt2."),
        (["--to", "csv"], "--out"),
        (["--out", "new"], "say what to export"),
        (["--to", "csv", "--onnx", "--out", "new"], "one thing at a time: labels by --to csv"),
        (["--onnx", "--torch-export", "--out", "new"], "the network by --onnx or --torch-export."),
    ):
        ended = pencil("export", trained, *arguments)
        assert ended.code == 2 and named in ended.line, ended.err
    assert not Path("new").exists()


@pytest.mark.parametrize("form", ["--onnx", "--torch-export"])
def test_the_network_is_written_and_checked(pencil: Command, trained: Path, form: str) -> None:
    if form == "--onnx":
        pytest.importorskip("onnx")
    ended = pencil("export", trained, form, "--out", "network")
    assert ended.code == 0 and ended.err == "", ended.err
    assert ended.out.startswith("network written to network; its probabilities differ from the run's by at most ")
    assert Path("network").stat().st_size > 1000


def test_the_run_must_be_one(pencil: Command, place: Path) -> None:
    assert "does not exist" in pencil("export", "nowhere", "--to", "csv", "--out", "new").line


def test_folders_of_other_names_than_their_classes_are_told(pencil: Command) -> None:
    photos = image_folder(Path("photos"), ("cat's", "dog"))
    trained = ("--out", "run", "--epochs", "1,1,1", "--backbone", "mlp", "--held-out", "0")
    assert pencil("train", photos, *trained).code == 0
    ended = pencil("export", "run", "--to", "image_folder", "--out", "sorted")
    assert ended.code == 0 and '"cat\'s" is in cat_s.' in ended.err
    assert {folder.name for folder in Path("sorted").iterdir()} == {"cat_s", "dog"}
