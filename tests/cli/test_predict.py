"""`pencil predict` gives a class and a confidence for every example."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from pencil.config import DataSettings
from pencil.data import read
from pencil.errors import PencilError
from pencil.run import predict_run

from .conftest import QUICK, Command, Ended, listing, write_rows
from .test_bad_input import image_folder

FACTORY = """
from torch import nn
def factory(spec, num_classes):
    return nn.Linear(spec.shape[0], num_classes)
"""
TRAINED = ("--epochs", "15,1,1", "--held-out", "0", "--set", "hardware.threads=1", "--set", "optimizer.batch_size=16")


def test_csv_goes_to_stdout(pencil: Command, trained: Path, rows: Path) -> None:
    ended = pencil("predict", trained, rows)
    assert ended.code == 0, ended.err
    table = list(csv.DictReader(io.StringIO(ended.out)))
    assert len(table) == 30 and set(table[0]) == {"id", "predicted", "confidence"}
    assert all(row["predicted"] in {"0", "1", "2"} and 1 / 3 <= float(row["confidence"]) <= 1 for row in table)
    right = sum(row["predicted"] == str(number % 3) for number, row in enumerate(table))
    assert f"{100 * right / 30:.2f}%" in ended.err
    last = json.loads((trained / "history.jsonl").read_text().splitlines()[-1])
    assert last["test_accuracy"] == pytest.approx(100 * right / 30)


def test_another_split(pencil: Command, trained: Path, rows: Path, place: Path) -> None:
    assert len(pencil("predict", trained, rows, "--split", "train").out.splitlines()) == 121
    ended = pencil("predict", trained, rows, "--split", "held-out")
    assert ended.code == 2 and "held-out" in ended.line


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_hold_the_same(pencil: Command, trained: Path, rows: Path, suffix: str) -> None:
    ended = pencil("predict", trained, rows, "--out", f"new.{suffix}", "--json")
    assert ended.code == 0, ended.err
    shown = json.loads(ended.out)
    if suffix == "csv":
        table = csv.DictReader(io.StringIO(Path("new.csv").read_text()))
        written = [row | {"confidence": float(row["confidence"])} for row in table]
    else:
        written = pq.read_table("new.parquet").to_pylist()
    assert written == shown


def test_a_file_that_exists_is_left_alone(pencil: Command, trained: Path, rows: Path, place: Path) -> None:
    Path("new.csv").write_text("precious")
    before = listing(place)
    ended = pencil("predict", trained, rows, "--out", "new.csv")
    assert ended.code == 2 and "new.csv" in ended.line
    assert listing(place) == before


def test_other_data_is_refused(pencil: Command, trained: Path) -> None:
    ended = pencil("predict", trained, "digits")
    assert ended.code == 2
    assert "digits has images, the run was trained on rows" in ended.line


def test_code_of_ones_own_must_be_named_again(pencil: Command, rows: Path) -> None:
    Path("mine.py").write_text(FACTORY)
    assert pencil("train", rows, "--out", "own", "--backbone", "mine.py:factory", *TRAINED).code == 0
    ended = pencil("predict", "own", rows)
    assert ended.code == 2 and "--backbone mine.py:factory" in ended.line
    assert pencil("predict", "own", rows, "--backbone", "mine.py:factory").code == 0
    ended = pencil("train", "--resume", "--out", "own")
    assert ended.code == 2 and "--backbone mine.py:factory" in ended.line
    assert pencil("train", "--resume", "--out", "own", "--backbone", "mine.py:factory").code == 0


@pytest.mark.filterwarnings("default")
def test_a_network_whose_code_has_changed_is_told_of(pencil: Command, rows: Path) -> None:
    own = ("--backbone", "mine.py:factory")
    Path("mine.py").write_text(FACTORY)
    assert pencil("train", rows, "--out", "own", *own, *TRAINED).code == 0
    assert pencil("predict", "own", rows, *own).err.count("changed") == 0
    Path("mine.py").write_text(f"{FACTORY}\n# Otherwise.\n")
    with pytest.warns(UserWarning, match=r"^mine.py:factory has changed since the run was trained"):
        assert pencil("predict", "own", rows, *own).code == 0


def test_arrays_without_labels(pencil: Command, trained: Path, rows: Path) -> None:
    new = write_rows(Path("new.npz"), y=None, clean=None, x_test=None, y_test=None)
    ended = pencil("predict", trained, new)
    assert ended.code == 0 and ended.err == ""
    assert ended.out == pencil("predict", trained, rows, "--split", "train").out


def test_images_without_classes(pencil: Command) -> None:
    folder = image_folder(Path("photos"))
    assert (
        pencil("train", folder, "--out", "run", "--epochs", "1,1,1", "--backbone", "mlp", "--held-out", "0").code == 0
    )
    for file in folder.glob("*/*.png"):
        file.rename(folder / f"{file.parent.name}-{file.name}")
    for name in ("cat", "dog"):
        (folder / name).rmdir()
    ended = pencil("predict", "run", folder)
    assert ended.code == 0, ended.err
    assert [line.split(",")[0] for line in ended.out.splitlines()[1:3]] == ["cat-0.png", "cat-1.png"]


def test_a_table_with_its_columns_in_another_order(pencil: Command) -> None:
    """Columns are found by name, a text the run never saw is none of those it knows, and the label may be missing."""
    lines = [f"{n % 7},{'red' if n % 3 else 'blue'},{n % 5},{'yes' if n % 2 else 'no'}" for n in range(40)]
    Path("t.csv").write_text("\n".join(["a,colour,b,kind", *lines]))
    own = ("--set", "data.options.label=kind", "--backbone", "mlp", "--epochs", "1,1,1", "--held-out", "0")
    assert pencil("train", "t.csv", "--out", "run", *own).code == 0
    expected = pencil("predict", "run", "t.csv").out.splitlines()[1:]
    cells = [line.split(",") for line in lines]
    Path("new.csv").write_text("\n".join(["b,extra,a,colour", *(f"{b},9,{a},{colour}" for a, colour, b, _ in cells)]))
    ended = pencil("predict", "run", "new.csv")
    assert ended.code == 0, ended.err
    assert [line.split(",")[1:] for line in ended.out.splitlines()[1:]] == [line.split(",")[1:] for line in expected]
    Path("some.csv").write_text("b,a,colour\n1,2,red\n3,4,green\n")
    assert len(pencil("predict", "run", "some.csv").out.splitlines()) == 3
    Path("t.csv").unlink()
    assert len(pencil("predict", "run", "some.csv").out.splitlines()) == 3
    Path("less.csv").write_text("b,colour\n1,red\n")
    ended = pencil("predict", "run", "less.csv")
    assert ended.code == 2 and 'no column "a"' in ended.line


def write_table(path: str, header: str, lines: list[str]) -> Path:
    Path(path).write_text("\n".join([header, *lines]) + "\n")
    return Path(path)


def predicted(ended: Ended) -> list[str]:
    assert ended.code == 0, ended.err
    return [line.partition(",")[2] for line in ended.out.splitlines()[1:]]


@pytest.fixture
def texts(pencil: Command) -> list[str]:
    """The rows of a table of texts that may look like numbers or truth values; a run was trained on them."""
    kinds = [("B", "yes"), ("2", "true"), ("A", "false")]
    lines = [f"{','.join(kinds[n % 3])},{n % 5},{'no' if n % 3 else 'yes'}" for n in range(30)]
    table = write_table("t.csv", "k,said,b,label", lines)
    assert pencil("train", table, "--out", "run", *QUICK, "--held-out", "0").code == 0
    return lines


def test_a_row_is_predicted_alike_whatever_rows_are_beside_it(pencil: Command, texts: list[str]) -> None:
    expected = predicted(pencil("predict", "run", "t.csv"))[1::3]
    few = write_table("few.csv", "k,said,b,label", texts[1::3])
    assert predicted(pencil("predict", "run", few)) == expected
    audited = pencil("audit", "run", few)
    assert audited.code == 0 and len(audited.out.splitlines()) == 11
    wrong = write_table("wrong.csv", "k,said,b", ["2,yes,few"])
    assert (
        'wrong.csv: the column "b" holds "few", the run was trained on numbers' in pencil("predict", "run", wrong).line
    )


def test_columns_that_the_run_does_not_use_are_not_read(pencil: Command, texts: list[str]) -> None:
    expected = predicted(pencil("predict", "run", "t.csv"))
    more = [f"2020-01-01,{line},{place or ''}" for place, line in enumerate(texts)]
    assert predicted(pencil("predict", "run", write_table("more.csv", "day,k,said,b,label,gap", more))) == expected


def test_ids_and_labels_come_back_as_they_were_spelled(pencil: Command) -> None:
    kinds = ["-1", "0", "1"]
    table = write_table("t.csv", "id,a,label", [f"{n:05},{n % 3},{kinds[n % 3]}" for n in range(30)])
    assert pencil("train", table, "--out", "run", *QUICK, "--held-out", "0").code == 0
    assert json.loads(Path("run/classes.json").read_text()) == kinds
    assert pencil("labels", "run", "--apply", "--out", "final.csv").code == 0
    final = list(csv.DictReader(io.StringIO(Path("final.csv").read_text())))
    assert [row["id"] for row in final] == [f"{n:05}" for n in range(30)]
    assert [row["given_name"] for row in final] == [kinds[n % 3] for n in range(30)]
    named = list(csv.DictReader(io.StringIO(pencil("predict", "run", table).out)))
    assert [row["id"] for row in named] == [f"{n:05}" for n in range(30)]
    again = ("--labels", "final.csv:given_name", "--out", "again", *QUICK, "--held-out", "0")
    assert pencil("train", table, *again).code == 0
    assert pq.read_table("again/labels.parquet")["given"].to_pylist() == [n % 3 for n in range(30)]


def test_features_of_another_kind_are_told(pencil: Command) -> None:
    """Data that is read already cannot be read otherwise: it is refused."""
    lines = [f"{'B2A'[n % 3]},{n % 5},{'no' if n % 2 else 'yes'}" for n in range(30)]
    assert pencil("train", write_table("t.csv", "k,b,label", lines), "--out", "run", *QUICK).code == 0
    for text, message in (("2,2,yes", '"k" of n holds numbers'), ("A,few,yes", '"b" of n holds texts')):
        dataset = read(DataSettings(source=str(write_table("n.csv", "k,b,label", [text]))))
        with pytest.raises(PencilError, match=message):
            predict_run("run", dataset)


@pytest.mark.parametrize("features", [5, [5], {"a": 1}])
def test_features_that_are_no_names_are_damage(pencil: Command, quick_run: Path, rows: Path, features: object) -> None:
    path = quick_run / "preprocessing.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"features": features}))
    (quick_run / "checksums.json").unlink()
    assert "preprocessing.json" in pencil("predict", quick_run, rows).line


def test_a_text_of_its_own_in_each_row_is_left_out_and_told(pencil: Command) -> None:
    lines = [f"{n % 3},Name {n},{'no' if n % 3 else 'yes'}" for n in range(30)]
    table = write_table("t.csv", "a,name,label", lines)
    ended = pencil("train", table, "--out", "run", *QUICK)
    assert ended.code == 0, ended.err
    told = 'the column "name" has another text in nearly every row and is left out; name it by data.options.features'
    assert told in ended.out + ended.err
    assert json.loads(Path("run/preprocessing.json").read_text())["features"] == ["a"]
    assert len(predicted(pencil("predict", "run", table))) == 30
    named = ("--set", "data.options.features=a,name")
    assert told not in (ended := pencil("train", table, "--out", "named", *named, *QUICK)).out + ended.err
    assert len(predicted(pencil("predict", "named", table))) == 30


@pytest.fixture
def numbered(pencil: Command) -> Path:
    """A run on a table whose classes are 1, 2 and 3."""
    table = write_table("t.csv", "a,label", [f"{n % 3},{n % 3 + 1}" for n in range(30)])
    assert pencil("train", table, "--out", "run", *QUICK, "--held-out", "0").code == 0
    return Path("run")


def test_images_for_a_run_on_a_table_are_told(pencil: Command, numbered: Path) -> None:
    ended = pencil("predict", numbered, image_folder(Path("photos")))
    assert ended.code == 2 and "photos has images, the run was trained on rows" in ended.line


def test_labels_that_are_numbers_are_matched_as_numbers(pencil: Command, numbered: Path) -> None:
    batch = write_table("batch.csv", "a,label", ["0,1.0", "1,2.00", "2,3", "1,x", "2,03", "0, 1"])
    given = predict_run(numbered, batch).given.tolist()
    assert given == [0, 1, 2, -1, -1, 0]
    ended = pencil("audit", numbered, batch)
    assert ended.code == 0 and '2 labels are no class of the run: "03" (1), "x" (1)' in ended.err


@pytest.mark.parametrize("command", ["predict", "audit"])
def test_one_row_is_enough_for_a_run(pencil: Command, numbered: Path, command: str) -> None:
    line = pencil(command, numbered, write_table("none.csv", "a,label", [])).line
    assert "none.csv has no rows; give at least one row." in line
    assert pencil(command, numbered, write_table("one.csv", "a,label", ["1,2"])).code == 0


def test_labels_that_are_no_class_of_the_run_are_counted_beside_the_accuracy(pencil: Command, numbered: Path) -> None:
    ended = pencil("predict", numbered, write_table("new.csv", "a,label", ["0,1", "1,9", "2,"]))
    assert ended.line.endswith("%, but for 1 of 2 that are no class of the run")
    assert pencil("predict", numbered, write_table("old.csv", "a,label", ["0,1", "2,"])).line.endswith("%")


def test_texts_that_the_run_never_saw_are_told(pencil: Command) -> None:
    colours = ("red", "blue")
    lines = [f"{n % 3},{colours[n % 2]},{'no' if n % 2 else 'yes'}" for n in range(30)]
    assert pencil("train", write_table("t.csv", "a,colour,label", lines), "--out", "run", *QUICK).code == 0
    new = write_table("new.csv", "a,colour,label", ["1,violet,no"] * 5 + ["1,red,yes"])
    note = 'colour: "violet" was never seen in training; 5 rows go without it.'
    assert f"pencil: {note}\n" in pencil("predict", "run", new).err
    assert f"pencil: {note}\n" in pencil("audit", "run", new).err
    assert predict_run("run", new).notes == predict_run("run", read(DataSettings(source=str(new)))).notes == (note,)
    many = [f"1,{word},test" for word in ("", "pink", "grey", "pink", "cyan", "")] + ["1,mauve,train"]
    assert predict_run("run", write_table("many.csv", "a,colour,split", many)).notes == (
        'colour: an empty cell, "pink", "grey" and 1 more were never seen in training; 6 rows go without them.',
    )
    assert predict_run("run", "t.csv").notes == ()


def test_the_runs_own_label_column_is_known_among_others(pencil: Command, numbered: Path) -> None:
    batch = write_table("batch.csv", "a,target,label,split", ["0,x,1,north", "1,y,2,", "2,z,3,train"])
    assert predict_run(numbered, batch).given.tolist() == [0, 1, 2]
    assert pencil("audit", numbered, batch).code == 0
    parts = write_table("parts.csv", "a,label,split", ["0,1,test", "1,2,train", "2,3,train"])
    assert predict_run(numbered, parts).given.tolist() == [0]
    path = numbered / "preprocessing.json"
    kept = json.loads(path.read_text())
    assert (kept.pop("label_column"), kept.pop("split_column")) == ("label", "")
    (numbered / "checksums.json").unlink()
    path.write_text(json.dumps(kept))
    assert "target and label may each be the label" in pencil("predict", numbered, batch).line
    path.write_text(json.dumps(kept | {"label_column": 5}))
    assert "preprocessing.json" in pencil("predict", numbered, batch).line


def test_a_table_may_have_test_or_held_out_rows_alone(pencil: Command, numbered: Path) -> None:
    for word, split in (("test", "test"), ("val", "held-out")):
        alone = write_table(f"{word}.csv", "a,label,split", [f"{n % 3},{n % 3 + 1},{word}" for n in range(4)])
        assert predict_run(numbered, alone).given.tolist() == [0, 1, 2, 0]
        assert len(pencil("predict", numbered, alone, "--split", split).out.splitlines()) == 5
        assert f"{word} has no train set, only {split}" in pencil("audit", numbered, alone).line
        assert len(pencil("audit", numbered, alone, "--split", split).out.splitlines()) == 5


def test_a_run_with_sets_by_column_still_refuses_other_words(pencil: Command) -> None:
    lines = [f"{n % 3},{n % 3},{'test' if n % 5 == 0 else 'train'}" for n in range(30)]
    assert (
        pencil(
            "train",
            write_table("t.csv", "a,kind,split", lines),
            "--out",
            "run",
            *QUICK,
            "--set",
            "data.options.label=kind",
        ).code
        == 0
    )
    Path("t.csv").unlink()
    wrong = write_table("new.csv", "a,kind,split,label", ["1,1,north,x"])
    assert 'row 1, column "split" is "north"' in pencil("predict", "run", wrong).line
    right = write_table("right.csv", "a,kind,split,label", ["1,1,train,x", "1,2,train,y"])
    assert predict_run("run", right).given.tolist() == [1, 2], "the label's option was with data that is gone"


def test_images_of_another_size_become_that_of_the_runs_own(pencil: Command) -> None:
    folder = image_folder(Path("photos"))
    assert (
        pencil("train", folder, "--out", "run", "--epochs", "1,1,1", "--backbone", "mlp", "--held-out", "0").code == 0
    )
    for name in ("new/cat", "new/dog"):
        Path(name).mkdir(parents=True)
    Image.new("RGB", (70, 50), "red").save("new/cat/large.png")
    Image.new("RGB", (9, 12), "blue").save("new/dog/small.png")
    Image.new("RGB", (9, 12), "blue").save("new/loose.png")
    for command in ("predict", "audit"):
        ended = pencil(command, "run", "new")
        assert ended.code == 0 and len(ended.out.splitlines()) == 3, ended.err
        assert "new: left out are 1 image beside the class folders." in ended.err


@pytest.mark.parametrize("gone", [False, True])
def test_columns_that_the_run_was_told_of_are_known_from_any_folder(
    pencil: Command, place: Path, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    table = "code,size,label\n" + "".join(f"k{n},{n % 2 * 5 + n / 100},{'ab'[n % 2]}\n" for n in range(30))
    Path("t.csv").write_text(table)
    assert pencil("train", "t.csv", "--set", "data.options.id=code", "--out", "run", *QUICK).code == 0
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "new.csv").write_text(table)
    if gone:
        Path("t.csv").unlink()
    monkeypatch.chdir(place / "elsewhere")
    ended = pencil("predict", "../run", "new.csv")
    assert [line.split(",")[0] for line in ended.out.splitlines()[1:3]] == ["k0", "k1"]


def test_images_are_decoded_as_those_of_the_run_where_these_are_gone(pencil: Command) -> None:
    for place in range(12):
        values = np.random.default_rng(place).integers(0, 2048 << place % 2, (8, 8), dtype=np.uint16)
        Path("scans", "ab"[place % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(values).save(f"scans/{'ab'[place % 2]}/{place}.png")
    assert pencil("train", "scans", "--set", "data.options.bits=12", "--out", "run", *QUICK).code == 0
    shutil.copytree("scans", "new")
    Path("new.csv").write_text("image,label\nnew/a/0.png,a\nnew/b/1.png,b\n")
    before, table = pencil("predict", "run", "scans").out, pencil("predict", "run", "new.csv").out
    shutil.rmtree("scans")
    after = pencil("predict", "run", "new").out
    assert after == before and after.splitlines()[1].split(",")[1:] == table.splitlines()[1].split(",")[1:]


def test_images_may_be_smaller_than_what_the_network_sees(pencil: Command) -> None:
    for name, side in (("photos", 16), ("new", 9)):
        for colour in ("red", "blue"):
            Path(name, colour).mkdir(parents=True)
            Image.new("RGB", (side, side), colour).save(f"{name}/{colour}/1.png")
    crop = ("--set", "data.options.crop=12", "--held-out", "0")
    assert pencil("train", "photos", "--out", "run", *crop, *QUICK).code == 0
    ended = pencil("predict", "run", "new")
    assert ended.code == 0 and len(ended.out.splitlines()) == 3, ended.err
