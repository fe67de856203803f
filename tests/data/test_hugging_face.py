"""Hugging Face datasets, loaded and by name, with the real library."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from PIL import Image

from pencil.data import Request, from_hugging_face
from pencil.data.sources import table
from pencil.data.sources.hf import read
from pencil.errors import PencilError

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 10, 8, 3), dtype=np.uint8)
LABELS = [0, 1, 1, 0, -1, 1]
NAMES = ["cat", "dog"]


def pictures(count: int = 6, start: int = 0) -> datasets.Dataset:
    features = datasets.Features({"picture": datasets.Image(), "animal": datasets.ClassLabel(names=NAMES)})
    shown = [Image.fromarray(PIXELS[place]) for place in range(start, start + count)]
    return datasets.Dataset.from_dict({"picture": shown, "animal": LABELS[start : start + count]}, features)


def vectors() -> datasets.Dataset:
    columns = {"v": [[1.0, 2], [3, 4], [5, 6]], "kind": ["b", "a", "b"], "key": ["x", "y", "z"], "truth": list("aab")}
    return datasets.Dataset.from_dict(columns)


def request(tmp_path: Path, **options: Any) -> Request:
    return Request(options=options, cache_dir=tmp_path / "cache")


def test_images_and_class_names(tmp_path: Path) -> None:
    found = from_hugging_face(pictures(), request(tmp_path))
    assert found.class_names == ("cat", "dog") and found.train.given.tolist() == LABELS
    np.testing.assert_array_equal(found.train.inputs.read(np.arange(6)), PIXELS)
    assert found.train.ids.tolist() == list("012345")
    assert found.preparation.raw_shape == (10, 8, 3)


def test_a_changed_dataset_is_decoded_anew(tmp_path: Path) -> None:
    from_hugging_face(pictures(3), request(tmp_path))
    other = from_hugging_face(pictures(3, start=3), request(tmp_path))
    np.testing.assert_array_equal(other.train.inputs.read(np.arange(3)), PIXELS[3:])
    chosen = from_hugging_face(pictures().select([5, 0, 1]), request(tmp_path))
    np.testing.assert_array_equal(chosen.train.inputs.read(np.arange(3)), PIXELS[[5, 0, 1]])


def test_splits_have_their_own_names(tmp_path: Path) -> None:
    source = datasets.DatasetDict({"test": pictures(2, 4), "train": pictures(3), "validation": pictures(1, 3)})
    found = from_hugging_face(source, request(tmp_path))
    assert found.held_out is not None and found.test is not None
    assert found.train.ids.tolist() == ["train/0", "train/1", "train/2"]
    assert found.held_out.ids.tolist() == ["validation/0"] and found.test.ids.tolist() == ["test/0", "test/1"]
    np.testing.assert_array_equal(found.test.inputs.read(np.array([1])), PIXELS[[5]])
    turned = from_hugging_face(source, request(tmp_path, split="validation"))
    assert turned.train.ids.tolist() == ["validation/0"] and turned.test is not None


def test_vectors_names_and_ids(tmp_path: Path) -> None:
    found = from_hugging_face(vectors(), request(tmp_path, label="kind", id="key", clean="truth"))
    assert found.facts["features"] == ["v[0]", "v[1]"] and found.preparation.raw_shape == (2,)
    np.testing.assert_array_equal(found.train.inputs.read(np.arange(3)), [[1, 2], [3, 4], [5, 6]])
    assert found.class_names == ("a", "b") and found.train.given.tolist() == [1, 0, 1]
    assert found.train.clean is not None and found.train.clean.tolist() == [0, 0, 1]
    assert found.train.ids.tolist() == ["x", "y", "z"]


def test_arrays_are_images_too(tmp_path: Path) -> None:
    features = datasets.Features({"x": datasets.Array3D((10, 8, 3), "uint8"), "label": datasets.Value("int64")})
    source = datasets.Dataset.from_dict({"x": PIXELS, "label": [0, 1, 0, 1, 0, 1]}, features)
    found = from_hugging_face(source, request(tmp_path, image="x"))
    np.testing.assert_array_equal(found.train.inputs.read(np.arange(6)), PIXELS)


def test_words_of_all_splits_are_features(tmp_path: Path) -> None:
    train = datasets.Dataset.from_dict({"colour": ["red", "blue"], "label": [0, 1]})
    test = datasets.Dataset.from_dict({"colour": ["green"], "label": [1]})
    found = from_hugging_face(datasets.DatasetDict({"train": train, "test": test}), request(tmp_path))
    assert found.facts["features"] == ["colour=blue", "colour=green", "colour=red"]
    assert found.test is not None and found.test.inputs.read(np.array([0])).tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("name", ["id", "idx", "Index"])
def test_numbers_of_rows_are_left_out_and_said(tmp_path: Path, name: str) -> None:
    def part(count: int) -> datasets.Dataset:
        columns = {name: list(range(count)), "size": np.arange(count) / 7, "label": np.arange(count) * 2 // count}
        return datasets.Dataset.from_dict(columns)

    source = datasets.DatasetDict(train=part(8), validation=part(4), test=part(4))
    found = from_hugging_face(source, request(tmp_path))
    assert found.facts["features"] == ["size"]
    assert found.facts["left_out"] == f'the column "{name}" numbers the rows and is left out.'
    assert from_hugging_face(source, request(tmp_path, features=[name])).facts["features"] == [name]
    few = part(8).map(lambda row: {name: row[name] % 2})
    assert from_hugging_face(few, request(tmp_path)).facts["features"] == [name, "size"]


def test_columns_that_are_ignored_are_not_looked_at(tmp_path: Path) -> None:
    """Neither as a second label nor as images or features; another split may lack them."""
    rows = {"size": [1.0, 2, 3], "label": list("aba"), "target": list("xyx"), "extra": [5.0, 6, 7]}
    source = datasets.DatasetDict({"train": datasets.Dataset.from_dict(rows), "test": datasets.Dataset.from_dict(rows)})
    source["test"] = source["test"].remove_columns("extra")
    found = from_hugging_face(source, request(tmp_path, ignore="label,extra"))
    assert found.class_names == ("x", "y") and found.facts["features"] == ["size"]
    with pytest.raises(PencilError, match=r'no column "sze" to ignore\. Did you mean "size"'):
        from_hugging_face(source, request(tmp_path, ignore="sze"))


def test_a_split_without_labels_is_named(tmp_path: Path) -> None:
    train = datasets.Dataset.from_dict({"size": [1.0, 2, 3], "label": [0, 1, 0]})
    source = datasets.DatasetDict(train=train, test=train.remove_columns("label"))
    with pytest.raises(PencilError, match='the split test has no column "label"'):
        from_hugging_face(source, request(tmp_path))


def test_texts_of_their_own_are_left_out_and_said(tmp_path: Path) -> None:
    texts, size = [f"note {number}" for number in range(30)], [float(number) for number in range(30)]
    columns = {"note": texts, "label": [number % 2 for number in range(30)]}
    found = from_hugging_face(datasets.Dataset.from_dict({**columns, "size": size}), request(tmp_path))
    assert found.facts["features"] == ["size"]
    assert '"note" has another text in nearly every row' in found.facts["left_out"]
    assert found.train.texts is not None and found.train.texts["note"].tolist() == texts
    halves = datasets.Dataset.from_dict({**columns, "size": size}).train_test_split(0.5, shuffle=False)
    found = from_hugging_face(halves, request(tmp_path))
    assert found.test is not None and found.test.texts is not None and found.test.texts["note"][0] == "note 15"
    with pytest.raises(PencilError, match='"note" of hugging_face has another text in nearly every row, and there is'):
        from_hugging_face(datasets.Dataset.from_dict(columns), request(tmp_path))
    with pytest.raises(PencilError, match="there are no columns of features"):
        from_hugging_face(datasets.Dataset.from_dict({"label": [0, 1]}), request(tmp_path))
    broken = {"price": ["1", "2", "n.a.", "4"], "label": [0, 1, 0, 1]}
    with pytest.raises(PencilError, match=r'"price" of hugging_face holds numbers, but "n\.a\." in row 3 is none'):
        from_hugging_face(datasets.Dataset.from_dict(broken), request(tmp_path))


@pytest.mark.parametrize("saved", ["disk", "parquet"])
def test_a_folder_is_read_by_name(load_data: Any, tmp_path: Path, saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf-cache")
    source = pictures(4)
    if saved == "disk":
        source.save_to_disk(str(tmp_path / "animals"))
    else:
        (tmp_path / "animals").mkdir()
        source.to_parquet(str(tmp_path / "animals" / "train.parquet"))
    found = load_data(f"hf:{tmp_path / 'animals'}", held_out=0.0)
    assert found.name == "animals" and found.class_names == ("cat", "dog")
    np.testing.assert_array_equal(found.train.inputs.read(np.arange(4)), PIXELS[:4])
    assert found.train.ids.tolist() == ([*"0123"] if saved == "disk" else [f"train/{n}" for n in range(4)])


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (vectors().to_iterable_dataset(), {}, "without streaming=True"),
        (datasets.IterableDatasetDict({"train": vectors().to_iterable_dataset()}), {}, "without streaming=True"),
        (vectors(), {}, 'settings={"data": {"options": {"label": "NAME"}}}'),
        (vectors(), {"label": "knd"}, 'Did you mean "kind"'),
        (
            vectors(),
            {"label": "kind", "features": ["v", "kind"]},
            '"kind" holds labels .* option features names it too',
        ),
        (vectors(), {"label": "kind", "image": "w"}, 'no column "w"'),
        (
            vectors(),
            {"label": "kind", "image": "v", "features": ["v"]},
            "image names .*, features other",
        ),
        (vectors(), {"label": "kind", "features": ["v", "u"]}, 'no column "u"'),
        (datasets.DatasetDict({"all": vectors()}), {}, 'settings={"data": {"options": {"split": "NAME"}}}'),
        (datasets.DatasetDict({"all": vectors()}), {"split": "al"}, 'Did you mean "all"'),
        (vectors(), {"label": "kind", "size": 64}, "option size is of no use: .*by its columns, not by images"),
        (vectors().select([]), {}, "empty"),
        (vectors(), {"colour": 1}, "no option"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PencilError, match=message):
        from_hugging_face(source, request(tmp_path, **options))


def test_several_classes_for_each_example_are_no_votes() -> None:
    kinds = {"v": datasets.Value("float32"), "label": datasets.Sequence(datasets.ClassLabel(names=["a", "b", "c"]))}
    rows = {"v": [1.0, 2.0, 3.0], "label": [[0, 2], [1, 2], [0, 1]]}
    with pytest.raises(PencilError, match=r'"label" holds several classes for each example'):
        from_hugging_face(datasets.Dataset.from_dict(rows, datasets.Features(kinds)))


def test_a_row_that_is_no_image_is_named(tmp_path: Path) -> None:
    broken = pictures(2).cast_column("picture", datasets.Image(decode=False))
    rows = [row["picture"] for row in broken]
    rows[1] = {"bytes": b"no image", "path": None}
    broken = datasets.Dataset.from_dict({"picture": rows, "animal": [0, 1]}, broken.features)
    with pytest.raises(PencilError, match="row 2 is not an image"):
        from_hugging_face(broken.cast_column("picture", datasets.Image()), request(tmp_path))


def test_a_name_is_not_fetched_unasked(load_data: Any, tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=r"Add download=True"):
        load_data("hf:no-such-owner/no-such-dataset")
    with pytest.raises(PencilError, match="does not exist"):
        load_data(f"hf:{tmp_path / 'nowhere'}")
    assert not datasets.config.HF_HUB_OFFLINE


def test_code_in_a_folder_is_not_run(tmp_path: Path) -> None:
    """A loading script, as the library once ran them, and a pickle beside it."""
    import pickle

    from ..torture.exploits import Marking

    mark, folder = tmp_path / "mark", tmp_path / "stranger"
    folder.mkdir()
    (folder / "stranger.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    (folder / "train.pkl").write_bytes(pickle.dumps(Marking(mark)))
    for remark in ("", "---\nconfigs:\n- config_name: default\n  data_files: train.pkl\n---\n"):
        (folder / "README.md").write_text(remark)
        with pytest.raises(PencilError, match=r"stranger cannot be loaded"):
            read(Request(location=folder, cache_dir=tmp_path / "cache"))
    assert not mark.exists()


@pytest.mark.parametrize("file", ["state.json", "dataset_info.json", "data-00000-of-00001.arrow"])
@pytest.mark.parametrize(
    "content", [b"", b"[" * 100_000, b'{"_data_files": [{"filename": "../../x"}]}', b"\xff" * 5000]
)
def test_a_damaged_saved_folder_is_one_line(tmp_path: Path, file: str, content: bytes) -> None:
    vectors().save_to_disk(str(tmp_path / "saved"))
    (tmp_path / "saved" / file).write_bytes(content)
    with pytest.raises(PencilError):
        read(Request(location=tmp_path / "saved", cache_dir=tmp_path / "cache"))


@pytest.mark.parametrize("kind", ["classes", "names"])
def test_each_split_has_its_own_order_of_classes(tmp_path: Path, kind: str) -> None:
    def split(names: list[str], labels: list[Any]) -> datasets.Dataset:
        features = {"v": datasets.Value("float32"), "label": datasets.ClassLabel(names=names)}
        columns = {"v": [float(place) for place in range(len(labels))], "label": labels}
        return datasets.Dataset.from_dict(columns, datasets.Features(features))

    train = split(["cat", "dog"], [0, 1, 1])
    if kind == "names":
        train = datasets.Dataset.from_dict({"v": [0.0, 1, 2], "label": ["cat", "dog", "dog"]}, None)
        train = train.cast_column("v", datasets.Value("float32"))
    source = datasets.DatasetDict({"train": train, "test": split(["dog", "cat"], [1, 0, -1])})
    found = from_hugging_face(source, request(tmp_path))
    assert found.class_names == ("cat", "dog") and found.train.given.tolist() == [0, 1, 1]
    assert found.test is not None and found.test.given.tolist() == [0, 1, -1]


def test_classes_beside_the_label_are_texts_as_in_a_file_of_the_same(tmp_path: Path) -> None:
    kinds = {"sex": datasets.ClassLabel(names=["f", "m"]), "label": datasets.ClassLabel(names=["a", "b"])}
    source = datasets.Dataset.from_dict({"sex": [1, 0, -1], "label": [0, 1, 1]}, datasets.Features(kinds))
    source.to_parquet(tmp_path / "t.parquet")
    file = table.read(Request(location=tmp_path / "t.parquet"))
    found = from_hugging_face(source, request(tmp_path))
    assert found.facts["features"] == file.facts["features"] == ["sex=", "sex=f", "sex=m"]
    again = from_hugging_face(source, replace(request(tmp_path), trained_features=("sex=", "sex=f", "sex=m")))
    for dataset in (found, file, again):
        rows = dataset.train.inputs.read(np.arange(3))
        np.testing.assert_array_equal(rows, [[0, 0, 1], [0, 1, 0], [1, 0, 0]])


def test_true_labels_may_count_the_classes_in_another_order(tmp_path: Path) -> None:
    names = {"label": ["cat", "dog"], "truth": ["dog", "cat"]}
    features = datasets.Features({name: datasets.ClassLabel(names=order) for name, order in names.items()})
    features["v"] = datasets.Value("float32")
    source = datasets.Dataset.from_dict({"v": [0.0, 1], "label": [0, 1], "truth": [1, 0]}, features)
    found = from_hugging_face(source, request(tmp_path, clean="truth"))
    assert found.train.clean is not None and found.train.clean.tolist() == [0, 1]


def test_image_files_that_changed_are_decoded_anew(tmp_path: Path) -> None:
    features = datasets.Features({"picture": datasets.Image(), "animal": datasets.ClassLabel(names=NAMES)})
    file = tmp_path / "1.bmp"
    for pixels in PIXELS[:2]:
        Image.fromarray(pixels).save(file)
        source = datasets.Dataset.from_dict({"picture": [str(file)], "animal": [0]}, features)
        found = from_hugging_face(source, request(tmp_path))
        np.testing.assert_array_equal(found.train.inputs.read(np.arange(1))[0], pixels)


@pytest.mark.parametrize("given", [[9, 5, 9], ["b", "a", "b"], [True, False, True]])
def test_classes_are_called_what_the_column_calls_them(tmp_path: Path, given: list[Any]) -> None:
    source = datasets.Dataset.from_dict({"v": [0.0, 1, 2], "label": given})
    found = from_hugging_face(source, request(tmp_path))
    assert found.terms is not None and found.terms[found.train.given].tolist() == given
    assert from_hugging_face(pictures(), request(tmp_path)).terms is None


def test_data_to_predict_needs_no_true_labels() -> None:
    new = datasets.Dataset.from_dict({"size": [1.0, 2.0, 3.0], "label": ["a", "b", "a"]})
    read = from_hugging_face(new, Request(options={"clean": "truth"}, labels_needed=False))
    assert read.train.given.tolist() == [0, 1, 0] and read.facts["features"] == ["size"]
    with pytest.raises(PencilError, match='no column "truth"'):
        from_hugging_face(new, Request(options={"clean": "truth"}))


def test_data_to_predict_has_the_features_of_the_run_whatever_is_in_them() -> None:
    cities = [f"city {place}" for place in range(30)]
    columns = {"city": cities, "gap": [None] * 30, "size": [1.0] * 30, "when": ["2024-01-01"] * 30}
    new = datasets.Dataset.from_dict(columns).cast_column("when", datasets.Value("date32"))
    wanted = ("size", "gap", "city=city 1", "city=city 2")
    read = from_hugging_face(new, Request(labels_needed=False, trained_features=wanted))
    rows = read.train.inputs.read(np.arange(3))
    np.testing.assert_array_equal(rows, [[1, np.nan, 0, 0], [1, np.nan, 1, 0], [1, np.nan, 0, 1]])
    assert read.facts["features"] == list(wanted) and "left_out" not in read.facts
    assert len(read.facts["unseen"]["city"]) == 28 and "30 cells" in read.facts["missing"]
    with pytest.raises(PencilError, match='no column "colour", which the run was trained on'):
        from_hugging_face(new, Request(labels_needed=False, trained_features=("colour",)))
