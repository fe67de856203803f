"""Bad input ends with one line that names it and the remedy, exit code 2, and nothing written."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from .conftest import QUICK, Command, listing, write_rows

GOOD = np.arange(120) % 3


def image_folder(path: Path, classes: tuple[str, ...] = ("cat", "dog")) -> Path:
    rng = np.random.default_rng(0)
    for name in classes:
        (path / name).mkdir(parents=True)
        for number in range(4):
            Image.fromarray(rng.integers(0, 255, (12, 12, 3), dtype=np.uint8)).save(path / name / f"{number}.png")
    return path


def table(path: Path, *, header: str = "id,a,b,label", rows: list[str] | None = None) -> Path:
    rows = [f"r{n},{n % 7},{n % 5},{'yes' if n % 2 else 'no'}" for n in range(20)] if rows is None else rows
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def changed_row(text: str) -> list[str]:
    return [f"r{n},{n % 7},{n % 5},{'yes' if n % 2 else 'no'}" if n != 3 else text for n in range(20)]


def features(value: float) -> np.ndarray:
    x = np.zeros((120, 8), dtype=np.float32)
    x[4, 2] = value
    return x


def cut(path: Path, share: float = 0.5) -> Path:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    return path


def empty_folder(place: Path) -> Path:
    (place / "nothing").mkdir()
    return place / "nothing"


def truncated_image(place: Path) -> Path:
    folder = image_folder(place / "photos")
    cut(folder / "dog" / "2.png")
    return folder


def text_among_images(place: Path) -> Path:
    folder = image_folder(place / "photos")
    (folder / "dog" / "notes.png").write_text("not an image")
    return folder


DATA: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "a missing path": (lambda p: p / "nowhere", ("nowhere",)),
    "an empty folder": (empty_folder, ("nothing", "folder of its own")),
    "a folder of one class": (lambda p: image_folder(p / "photos", ("cat",)), ("photos", '"cat"', "two")),
    "rows of one class": (
        lambda p: write_rows(p / "d.npz", y=GOOD * 0, clean=None, y_test=GOOD[:30] * 0),
        ("at least two",),
    ),
    "a label out of range": (
        lambda p: write_rows(p / "d.npz", y=np.where(GOOD == 2, 7, GOOD), class_names=["a", "b", "c"]),
        ("d.npz", "row 3", "7", "0 to 2"),
    ),
    "a negative label": (lambda p: write_rows(p / "d.npz", y=GOOD - 5), ("d.npz", "row 1", "-5")),
    "no labels at all": (lambda p: write_rows(p / "d.npz", y=GOOD * 0 - 1), ("no labels", "at least two classes")),
    "no array of labels": (lambda p: write_rows(p / "d.npz", y=None), ("d.npz", '"y"')),
    "a fractional label": (lambda p: write_rows(p / "d.npz", y=GOOD + 0.5), ("d.npz", "row 1", "0.5", "whole")),
    "an infinite feature": (lambda p: write_rows(p / "d.npz", x=features(np.inf)), ("d.npz", "row 5", "inf")),
    "a truncated image": (truncated_image, ("dog/2.png",)),
    "a file that is no image": (text_among_images, ("dog/notes.png",)),
    "a table without a label column": (lambda p: table(p / "t.csv", header="id,a,b,kind"), ("t.csv", "kind", "label")),
    "an infinite number in a table": (
        lambda p: table(p / "t.csv", rows=changed_row("r3,inf,1,no")),
        ("t.csv", "row 4", "inf"),
    ),
    "duplicate ids": (lambda p: table(p / "t.csv", rows=changed_row("r2,1,1,no")), ('"r2"',)),
    "a corrupted archive": (lambda p: cut(write_rows(p / "d.npz")), ("d.npz", "numpy.savez")),
    "an unknown kind of file": (lambda p: (p / "d.xyz").touch() or p / "d.xyz", ("d.xyz", ".csv")),
}


@pytest.mark.parametrize("case", DATA)
def test_bad_data(pencil: Command, place: Path, case: str) -> None:
    make, words = DATA[case]
    source = make(place)
    refused(pencil, place, words, "train", source, "--out", "run", *QUICK)


OPTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "method": (("--method", "pencl"), ('"pencl"', '"pencil"')),
    "backbone": (("--backbone", "preact_resnt32"), ('"preact_resnet32"',)),
    "recipe": (("--recipe", "paper/cifar10-symetric-70"), ('"paper/cifar10-symmetric-70"',)),
    "noise": (("--noise", "symetric:0.4"), ('"symmetric"',)),
    "noise rate": (("--noise", "symmetric:1.4"), ("symmetric:1.4", "0 to 1")),
    "noise out of reach": (("--noise", "crowd:0.95"), ('"crowd:0.95"', "of these labels wrong", "another noise")),
    "device": (("--device", "cdua"), ('"cdua"',)),
    "precision": (("--precision", "bf16"), ("bf16-mixed",)),
    "held-out": (("--held-out", "1"), ("held_out", "1")),
    "epochs that are no numbers": (("--epochs", "1,x,1"), ("1,x,1", "20,50,20")),
    "too few epochs": (("--epochs", "1,1"), ("--epochs", "3 phases", "backbone, labels, tuning")),
    "no epochs": (("--epochs", "0,0,0"), ("0,0,0", "not all 0")),
    "no epochs in all": (("--epochs", "0"), ('"0"', "20,50,20")),
    "setting": (("--set", "optimizer.batchsize=3"), ('"optimizer.batchsize"', '"batch_size"')),
    "method's option": (("--set", "entropy_wieght=3"), ("entropy_wieght", '"entropy_weight"')),
    "setting of another type": (("--set", "optimizer.batch_size=many"), ("optimizer.batch_size", "many")),
    "phase": (("--set", "phases.lables.lr=1"), ('no phase "lables"', '"labels"')),
    "number out of range": (("--set", "optimizer.momentum=2"), ("optimizer.momentum is 2", "not including, 1")),
    "method's number out of range": (("--set", "anchor=-1"), ("options.anchor is -1", "from 0")),
    "method's number that is none": (("--set", "entropy_weight=nan"), ("options.entropy_weight is nan", "from 0")),
    "setting without a value": (("--set", "seed"), ("--set", "key=value")),
    "settings file": (("--config", "none.toml"), ("none.toml",)),
    "named column": (("--set", "data.options.label=kind"), ('"label"',)),
    "label file": (("--labels", "none.csv"), ("none.csv",)),
    "seed": (("--seed", "-1"), ("--seed", "0")),
}


@pytest.mark.parametrize(
    "asked", [("--set", "data=photos"), ("--config", "flat.toml"), ("rows.csv", "--config", "x.toml")]
)
def test_a_value_in_the_place_of_a_group(pencil: Command, place: Path, asked: tuple[str, ...]) -> None:
    Path("flat.toml").write_text('data = "photos"\n')
    Path("x.toml").write_text('options = "fast"\n')
    refused(pencil, place, ("is a group of settings",), "train", *asked, "--set", "label_step=1", "--out", "run")


@pytest.mark.parametrize("case", OPTIONS)
def test_an_option_that_is_wrong(pencil: Command, rows: Path, place: Path, case: str) -> None:
    options, words = OPTIONS[case]
    quick = () if "--epochs" in options or "--backbone" in options else QUICK
    refused(pencil, place, words, "train", rows, "--out", "run", *quick, *options)


WIDER = "from torch import nn\ndef wide(spec, num_classes):\n    return nn.Linear(spec.shape[0], num_classes + 2)\n"


def test_a_network_of_ones_own_with_another_number_of_outputs(pencil: Command, rows: Path, place: Path) -> None:
    Path("net.py").write_text(WIDER)
    words = ("net.py:wide turns inputs", "[2, 5]", "[2, 3], a number for each class")
    refused(pencil, place, words, "train", rows, "--backbone", "net.py:wide", "--out", "run", "--epochs", "1,1,1")


def test_noise_by_annotators_who_cannot_see_the_inputs(pencil: Command, place: Path) -> None:
    Path("mine.py").write_text(
        "import torch\nfrom torch.utils.data import TensorDataset\nfrom pencil.data import from_torch\n"
        "def read(request):\n    return from_torch(TensorDataset(torch.rand(60, 4), torch.arange(60) % 3))\n"
    )
    words = ('"crowd:0.2"', "only one by one", "another noise")
    refused(pencil, place, words, "train", "mine.py:read", "--noise", "crowd:0.2", "--out", "run", *QUICK)


def test_a_table_without_the_named_column(pencil: Command, place: Path) -> None:
    source = table(place / "t.csv")
    refused(
        pencil,
        place,
        ("t.csv", '"labl"', '"label"'),
        "train",
        source,
        "--out",
        "run",
        "--set",
        "data.options.label=labl",
    )


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ("0\n" * 119, ("labels.txt", "119", "120")),
        ("0\n1\n5\n" * 40, ("labels.txt", "row 3", "5", "0, 1, 2")),
        ("0.5\n" + "1\n" * 119, ("labels.txt", "row 1", "0.5")),
        ("id,label\nr1,0\n", ("labels.txt", "no label for")),
    ],
)
def test_a_bad_label_file(pencil: Command, rows: Path, place: Path, labels: str, words: tuple[str, ...]) -> None:
    Path("labels.txt").write_text(labels)
    refused(pencil, place, words, "train", rows, "--out", "run", "--labels", "labels.txt", *QUICK)


def test_a_folder_that_holds_something(pencil: Command, rows: Path, place: Path) -> None:
    assert pencil("train", rows, "--out", "run", *QUICK).code == 0
    refused(pencil, place, ("run", "already holds a run", "--resume"), "train", rows, "--out", "run", *QUICK)
    (place / "mine").mkdir()
    (place / "mine" / "thesis.txt").write_text("years of work")
    refused(pencil, place, ("mine", "other files"), "train", rows, "--out", "mine", *QUICK)
    refused(pencil, place, ("rows.npz", "is a file"), "train", rows, "--out", rows, *QUICK)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train",), ("no data", "pencil train digits")),
        (("train", "--resume"), ("--out",)),
        (("train", "--resume", "--out", "nowhere"), ("nowhere", "does not exist")),
        (("predict", "nowhere", "rows.npz"), ("nowhere", "does not exist")),
        (("predict", "nowhere", "rows.npz", "--out", "table.xls"), ("table.xls", ".csv")),
        (("demo", "--out", "."), ("not empty", "--out")),
    ],
)
def test_something_is_missing(
    pencil: Command, rows: Path, place: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    refused(pencil, place, words, *arguments)


def refused(pencil: Command, place: Path, words: tuple[str, ...], *arguments: object) -> None:
    """Run a command that must be refused, and look at its line, its exit code and what it left behind."""
    before = listing(place)
    ended = pencil(*arguments)
    assert ended.code == 2, ended.err
    assert ended.line.startswith("pencil: ")
    for word in words:
        assert word in ended.line
    assert ended.out == ""
    assert listing(place) == before


def test_a_run_does_not_go_among_the_images_it_learns_from(
    pencil: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image_folder(place / "photos")
    before = listing(place)
    for more in ((), ("--dry-run",)):
        ended = pencil("train", "photos", "--out", "photos/run", *QUICK, *more)
        assert ended.code == 2 and ended.line == (
            "pencil: the run in photos/run would lie among its data, where it would be taken for images; choose an"
            " --out that is not in photos."
        )
    monkeypatch.chdir(place / "photos")
    for source in (("train", "."), ("train", "--set", "data.source=.")):
        ended = pencil(*source, *QUICK)
        assert ended.code == 2 and "would lie among its data" in ended.line
    assert listing(place) == before
    assert pencil("train", ".", "--out", place / "run", *QUICK).code == 0
    ended = pencil("train", "--from", place / "run", *QUICK)
    assert ended.code == 2 and "would lie among its data" in ended.line
