"""Each export is read back by what it is meant for, or checked against the layout that its tool documents."""

import csv
import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from pencil import data
from pencil.config import DataSettings
from pencil.data.located import Located, read_dataset
from pencil.errors import PencilError
from pencil.export.label_studio import interface
from pencil.export.labels import read_labels
from pencil.export.write import FORMS, export_run
from pencil.results.decisions import Decisions
from pencil.results.documents import write_json
from pencil.spelling import shell

from .conftest import CLASSES

FOLDERS = ("image_folder", "fiftyone", "label_studio")


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_csv_and_parquet_hold_the_final_labels(photo_run: Path, tmp_path: Path) -> None:
    final = read_labels(photo_run).final
    assert export_run(photo_run, "csv", tmp_path / "a.csv") == 36
    assert export_run(photo_run, "parquet", tmp_path / "a.parquet") == 36
    assert pq.read_table(tmp_path / "a.parquet").equals(final)
    rows = lines(tmp_path / "a.csv")
    assert (rows[0]["final"], rows[0]["final_name"], rows[0]["source"]) == ("2", "été", "reviewed")
    assert [row["final_name"] for row in rows] == final["final_name"].to_pylist()


@pytest.mark.parametrize("copy", [False, True])
def test_a_folder_of_images_trains_again(photo_run: Path, photos: Path, tmp_path: Path, copy: bool) -> None:
    labels = read_labels(photo_run)
    assert export_run(photo_run, "image_folder", tmp_path / "sorted", copy=copy) == 36
    read = data.read(DataSettings(source=str(tmp_path / "sorted")), cache_dir=tmp_path / "cache")
    assert read.class_names == CLASSES
    by_row = {int(Path(name).name[:7]): label for name, label in zip(read.train.ids, read.train.given, strict=True)}
    assert [by_row[row] for row in range(36)] == labels.whole("final").tolist()
    for file in (tmp_path / "sorted").rglob("*.png"):
        original = photos / labels.ids[int(file.name[:7])]
        assert file.is_symlink() is not copy and file.read_bytes() == original.read_bytes()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_of_final_labels_trains_again(photo_run: Path, photos: Path, tmp_path: Path, form: str) -> None:
    out, labels = tmp_path / f"final.{form}", read_labels(photo_run)
    export_run(photo_run, form, out)
    columns = {"image": "id", "label": "final_name"}
    read = data.read(DataSettings(source=str(out), root=str(photos), options=columns), cache_dir=tmp_path / "cache")
    sets = {"train": read.train, "held-out": read.held_out}
    for name, split, label in zip(labels.ids, labels.table["split"], labels.whole("final"), strict=True):
        examples = sets[split.as_py()]
        assert examples is not None and examples.given[examples.ids.tolist().index(name)] == label


def test_a_class_that_no_example_is_of_has_no_folder(photo_run: Path, tmp_path: Path) -> None:
    """Whoever trains on the folder, this package or another, refuses one that is empty."""
    with Decisions(photo_run / "decisions.sqlite") as store:
        for name in read_labels(photo_run).ids:
            store.decide(name, 1 if name.startswith("dog") else 2, reviewer="me", key=name)
    export_run(photo_run, "image_folder", tmp_path / "sorted")
    read = data.read(DataSettings(source=str(tmp_path / "sorted")), cache_dir=tmp_path / "cache")
    assert read.class_names == CLASSES[1:]


def test_images_from_arrays_become_png_files(array_run: Path, tmp_path: Path) -> None:
    labels = read_labels(array_run)
    assert export_run(array_run, "image_folder", tmp_path / "sorted") == 36
    inputs = Located(read_dataset(labels.settings.data), labels.ids)
    files = sorted((tmp_path / "sorted").rglob("*.png"), key=lambda file: file.name)
    for row, file in enumerate(files):
        assert np.array_equal(np.asarray(Image.open(file)), inputs.read(row))


def test_cleanlab_columns(photo_run: Path, tmp_path: Path) -> None:
    labels = read_labels(photo_run)
    export_run(photo_run, "cleanlab", tmp_path / "issues.csv")
    rows = lines(tmp_path / "issues.csv")
    names = ["id", "is_label_issue", "label_quality", "label_score", "given_label", "predicted_label"]
    assert list(rows[0]) == names and len(rows) == 36
    assert (rows[0]["is_label_issue"], rows[0]["predicted_label"]) == ("True", "2"), "a person moved it"
    assert rows[1]["is_label_issue"] == "False", "a person kept it"
    for row, own in list(zip(rows, labels.table.to_pylist(), strict=True))[2:]:
        assert row["is_label_issue"] == str(own["decision"] != "keep")
        assert (int(row["given_label"]), int(row["predicted_label"])) == (own["given"], own["corrected"])
        assert float(row["label_quality"]) == float(row["label_score"]) == own["quality"]


def test_cleanlab_gets_no_examples_without_a_label(table_run: Path, tmp_path: Path) -> None:
    assert export_run(table_run, "cleanlab", tmp_path / "issues.csv") == 39
    assert all(row["given_label"] in "01" for row in lines(tmp_path / "issues.csv"))


def test_fiftyone_layout(photo_run: Path, tmp_path: Path) -> None:
    """Its page of "FiftyOneImageClassificationDataset": data/<uuid>.<ext>, and class numbers by uuid."""
    export_run(photo_run, "fiftyone", tmp_path / "out")
    document = json.loads((tmp_path / "out" / "labels.json").read_text(encoding="utf-8"))
    assert set(document) == {"classes", "labels"} and document["classes"] == list(CLASSES)
    files = sorted((tmp_path / "out" / "data").iterdir())
    assert {file.stem for file in files} == set(document["labels"])
    assert [document["labels"][file.stem] for file in files] == read_labels(photo_run).whole("final").tolist()


def test_label_studio_tasks_fit_their_interface(photo_run: Path, tmp_path: Path) -> None:
    """Its pages of pre-annotated data: `data` and `predictions`, whose results name the tags of the interface."""
    out, labels = tmp_path / "out", read_labels(photo_run)
    export_run(photo_run, "label_studio", out)
    view = ET.parse(out / "interface.xml").getroot()
    shown, choices = view.find("Image"), view.find("Choices")
    assert shown is not None and choices is not None and shown.get("value") == "$image"
    assert [choice.get("value") for choice in choices] == list(CLASSES)
    tasks = json.loads((out / "tasks.json").read_text(encoding="utf-8"))
    assert len(tasks) == 36
    for task, own in zip(tasks, labels.table.to_pylist(), strict=True):
        (prediction,) = task["predictions"]
        (result,) = prediction["result"]
        assert (result["from_name"], result["to_name"]) == (choices.get("name"), shown.get("name"))
        assert (result["type"], result["value"]) == ("choices", {"choices": [own["corrected_name"]]})
        assert prediction["score"] == own["confidence"] and prediction["model_version"]
        prefix, _, path = task["data"]["image"].partition("?d=")
        assert prefix == "/data/local-files/" and (out / unquote(path)).is_file()
    reviewed = [task["annotations"][0]["result"][0]["value"]["choices"] for task in tasks if "annotations" in task]
    assert reviewed == [["été"], [labels.table["given_name"][1].as_py()]]


@pytest.mark.parametrize("sign", ["\u202e", "\u200d", "\x85", "\ue000", "\U0001f436", "\t", "\n", "\r", "\ufffd"])
def test_label_studio_gets_every_name_that_xml_can_hold(sign: str) -> None:
    names = [f"a{sign}b", sign]
    read = ET.fromstring(interface(names, "image").encode())
    assert [choice.get("value") for choice in read.iter("Choice")] == names


@pytest.mark.parametrize("sign", ["\0", "\x1b", "\x0b", "\ud800", "\ufffe", "\uffff"])
def test_label_studio_gets_no_name_that_xml_cannot_hold(sign: str) -> None:
    with pytest.raises(PencilError, match="has signs that XML cannot hold; rename it"):
        interface(["fine", f"a{sign}b"], "image")


def test_label_studio_shows_rows_of_a_table_as_text(table_run: Path, tmp_path: Path) -> None:
    export_run(table_run, "label_studio", tmp_path / "out")
    task = json.loads((tmp_path / "out" / "tasks.json").read_text())[0]
    assert task["data"]["text"].startswith("size: ")
    assert task["predictions"][0]["result"][0]["to_name"] == "text"
    assert not (tmp_path / "out" / "images").exists()


def needs(form: str) -> None:
    """Skip where the library that writes a form is not installed."""
    if form == "hf_dataset":
        pytest.importorskip("datasets")


@pytest.mark.parametrize("form", FORMS)
def test_what_exists_is_never_overwritten(photo_run: Path, tmp_path: Path, form: str) -> None:
    needs(form)
    before = {path: path.stat().st_mtime_ns for path in photo_run.rglob("*")}
    (tmp_path / "out").write_text("mine")
    with pytest.raises(PencilError, match="already exists"):
        export_run(photo_run, form, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"
    export_run(photo_run, form, tmp_path / "new")
    assert {path: path.stat().st_mtime_ns for path in photo_run.rglob("*")} == before


@pytest.mark.parametrize("form", FOLDERS)
def test_a_failed_export_leaves_nothing(photo_run: Path, tmp_path: Path, form: str) -> None:
    with pytest.raises(PencilError, match=r"not in its data|cannot be read"):
        export_run(photo_run, form, tmp_path / "out", source=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [photo_run.name]


@pytest.mark.parametrize("form", ["image_folder", "fiftyone"])
def test_rows_of_a_table_are_no_images(table_run: Path, tmp_path: Path, form: str) -> None:
    with pytest.raises(PencilError, match="rows of a table"):
        export_run(table_run, form, tmp_path / "out")


@pytest.mark.parametrize("form", FORMS)
def test_hostile_class_names_stay_inside(photo_run: Path, tmp_path: Path, form: str) -> None:
    needs(form)
    hostile = ["../../escaped", "a/b", '"><script>&']
    write_json(photo_run / "classes.json", hostile)
    (photo_run / "checksums.json").unlink()
    place = tmp_path / "deep" / "place"
    place.mkdir(parents=True)
    export_run(photo_run, form, place / "out")
    assert [path.name for path in place.iterdir()] == ["out"]
    assert [path.name for path in place.parent.iterdir()] == ["place"]
    if form == "image_folder":
        assert sorted(path.name for path in (place / "out").iterdir()) == ["___.._escaped", "___script__", "a_b"]
    if form == "label_studio":
        found = [choice.get("value") for choice in ET.parse(place / "out" / "interface.xml").getroot().iter("Choice")]
        assert found == hostile


def test_data_that_has_moved_is_found(photo_run: Path, photos: Path, tmp_path: Path) -> None:
    shutil.copytree(photos, tmp_path / "moved" / "photos")
    export_run(photo_run, "image_folder", tmp_path / "out", source=str(tmp_path / "moved" / "photos"))
    links = list((tmp_path / "out").rglob("*.png"))
    assert all(path.resolve().is_relative_to((tmp_path / "moved").resolve()) for path in links) and links


@pytest.mark.parametrize(
    ("form", "name", "remedy"),
    [
        ("csv", "q.parquet", "use --to parquet, or an --out that ends in .csv"),
        ("csv", "q.PQ", "use --to parquet, or an --out that ends in .csv"),
        ("csv", "q.tsv", "use an --out that ends in .csv"),
        ("csv", "q.onnx", "use --onnx, or an --out that ends in .csv"),
        ("cleanlab", "q.parquet", "use --to parquet, or an --out that ends in .csv"),
        ("parquet", "q.csv", "use --to csv or --to cleanlab, or an --out that ends in .parquet"),
        ("image_folder", "q.csv", "use --to csv or --to cleanlab, or an --out that is the name of a folder"),
    ],
)
def test_an_ending_of_another_form_is_refused(
    photo_run: Path, tmp_path: Path, form: str, name: str, remedy: str
) -> None:
    with shell(), pytest.raises(PencilError, match=re.escape(f"{name} is not what --to {form} writes; {remedy}.")):
        export_run(photo_run, form, tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(("form", "name"), [("csv", "a.CSV"), ("parquet", "a.pq"), ("csv", "a.txt"), ("csv", "v1.2")])
def test_any_other_ending_is_taken(photo_run: Path, tmp_path: Path, form: str, name: str) -> None:
    assert export_run(photo_run, form, tmp_path / name) == 36


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_names_come_back_as_they_are(photo_run: Path, tmp_path: Path, form: str) -> None:
    """Also those that a spreadsheet takes for formulas: what reads an export again finds the same names."""
    names = ["=1+1", "+cat", "@dog"]
    write_json(photo_run / "classes.json", names)
    (photo_run / "checksums.json").unlink()
    export_run(photo_run, form, tmp_path / f"a.{form}")
    read = lines(tmp_path / "a.csv") if form == "csv" else pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert {row["final_name"] for row in read} <= set(names) and read[0]["final_name"] == "@dog"


def test_an_unknown_form_gets_the_right_one(photo_run: Path, tmp_path: Path) -> None:
    with pytest.raises(PencilError, match="fiftyone"):
        export_run(photo_run, "fiftyon", tmp_path / "out")
