"""Images are the files they came from wherever the data says which, whatever their ids are."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import pencil
from pencil.config import DataSettings
from pencil.errors import PencilError
from pencil.export.images import open_images
from pencil.export.labels import read_labels
from pencil.export.write import export_run

from .conftest import QUICK

SMALL = {"data": {"options": {"size": 8}, "held_out": 0.0}}
PLACES = {"image_folder": "*/*", "label_studio": "images/*", "fiftyone": "data/*"}
"""Where each form puts its images."""


def save_large(folder: Path, names: list[str]) -> None:
    """Write images that training makes smaller, as JPEG whatever they are called."""
    rng = np.random.default_rng(0)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (70, 90, 3), dtype=np.uint8)).save(folder / name, "JPEG")


def train(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENCIL_CACHE", str(data.parent / "cache"))
    pencil.fit(data, out=data.parent / "run", settings=QUICK | SMALL, epochs=(1, 1, 1))
    return data.parent / "run"


def are_originals(run: Path, out: Path, form: str, original: Callable[[str], Path]) -> bool:
    """Say whether each form's images are the files that the ids stand for."""
    ids, files = read_labels(run).ids, sorted(out.glob(PLACES[form]), key=lambda file: file.name)
    pairs = [(file, original(ids[int(file.name[:7])])) for file in files]
    return len(files) == len(ids) and all(file.read_bytes() == own.read_bytes() for file, own in pairs)


@pytest.fixture
def keyed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on a table that has paths, one of them absolute, and ids of its own; the first id is another's path."""
    save_large(tmp_path / "in", [f"{n}.jpg" for n in range(8)])
    places = [f"in/{n}.jpg" for n in range(7)] + [str(tmp_path / "in" / "7.jpg")]
    keys = ["in/1.jpg", *(f"key {n}" for n in range(1, 8))]
    lines = [f"{key},{place},{'ab'[n % 2]}" for n, (key, place) in enumerate(zip(keys, places, strict=True))]
    (tmp_path / "table.csv").write_text("\n".join(["id,path,label", *lines]) + "\n")
    return train(tmp_path / "table.csv", monkeypatch)


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("form", PLACES)
def test_a_table_says_where_its_images_are(keyed_run: Path, tmp_path: Path, form: str, copy: bool) -> None:
    export_run(keyed_run, form, tmp_path / "out", copy=copy)
    own = {"in/1.jpg": tmp_path / "in" / "0.jpg"} | {f"key {n}": tmp_path / "in" / f"{n}.jpg" for n in range(1, 8)}
    assert are_originals(keyed_run, tmp_path / "out", form, own.__getitem__)
    assert all(file.is_symlink() is not copy for file in (tmp_path / "out").glob(PLACES[form]))


def test_a_table_that_has_moved_with_its_images(keyed_run: Path, tmp_path: Path) -> None:
    (tmp_path / "moved").mkdir()
    for name in ("table.csv", "in"):
        shutil.move(tmp_path / name, tmp_path / "moved" / name)
    lines = (tmp_path / "moved" / "table.csv").read_text().replace(f"{tmp_path}/in", "in")
    (tmp_path / "moved" / "table.csv").write_text(lines)
    export_run(keyed_run, "image_folder", tmp_path / "out", root=str(tmp_path / "moved"))
    assert {file.resolve().parent for file in (tmp_path / "out").glob("*/*")} == {tmp_path / "moved" / "in"}


@pytest.mark.parametrize("form", PLACES)
def test_a_file_without_an_images_ending_is_one_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    save_large(tmp_path / "photos", ["cat/1.jpg", "cat/2", "cat/3.JPG", "dog/1.jpg", "dog/2.old", "dog/3.jpg"])
    run = train(tmp_path / "photos", monkeypatch)
    export_run(run, form, tmp_path / "out")
    assert are_originals(run, tmp_path / "out", form, lambda name: tmp_path / "photos" / name)
    files = list((tmp_path / "out").glob(PLACES[form]))
    assert all(file.is_symlink() and file.suffix == ".jpg" for file in files), "other tools go by the ending"


def test_what_is_no_image_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids come from a run folder, and paths from a table, which may be a stranger's."""
    monkeypatch.setenv("PENCIL_CACHE", str(tmp_path / "cache"))
    save_large(tmp_path / "photos", ["a/1.jpg", "b/1.jpg"])
    (tmp_path / "photos" / "secret").write_text("mine")
    for name in ("secret", "../photos/a/1.jpg", str(tmp_path / "photos" / "a" / "1.jpg")):
        with pytest.raises(PencilError, match="not in its data"):
            open_images(DataSettings(source=str(tmp_path / "photos")), [name], source="", root="", copy=True)
    (tmp_path / "letter.pdf").write_text("mine")
    (tmp_path / "table.csv").write_text(f"id,path,label\n1,photos/a/1.jpg,a\n2,{tmp_path}/letter.pdf,b\n")
    with pytest.raises(PencilError, match=r"letter\.pdf is not an image"):
        open_images(DataSettings(source=str(tmp_path / "table.csv")), ["1", "2"], source="", root="", copy=True)
