"""Runs as Hugging Face datasets: trained on one, exported as one, read with the real library."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from PIL import Image

import pencil
from pencil import data
from pencil.config import DataSettings
from pencil.data.tables.uses import CORRECTED
from pencil.errors import PencilError
from pencil.export.hf_dataset import add_corrected_labels
from pencil.export.write import export_run
from pencil.results.decisions import Decisions
from pencil.results.read import read_run

from .hub import local_hub

QUICK = {"backbone": "mlp", "hardware": {"device": "cpu", "threads": 1}}
NAMES = ["cat", "dog", "été"]


def animals(count: int, seed: int = 0) -> datasets.Dataset:
    random = np.random.default_rng(seed)
    labels = [place % 3 for place in range(count)]
    shown = [Image.fromarray(random.integers(80 * y, 80 * y + 60, (8, 8, 3), dtype=np.uint8)) for y in labels]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=NAMES)})
    return datasets.Dataset.from_dict({"image": shown, "label": labels}, features)


@pytest.fixture(scope="module")
def hf_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run by the name of a saved DatasetDict; a person moved its example train/1 to the class "été"."""
    place = tmp_path_factory.mktemp("hf")
    datasets.DatasetDict({"train": animals(36), "test": animals(9, 1)}).save_to_disk(str(place / "animals"))
    source = f"hf:{place / 'animals'}"
    result = pencil.fit(source, out=place / "run", settings=QUICK, epochs=(1, 1, 1), cache_dir=place / "cache")
    assert "last" in result.summary["test_accuracy"]
    with Decisions(place / "run" / "decisions.sqlite") as store:
        store.decide("train/1", 2, reviewer="me", key="1")
    return place / "run"


def test_corrected_labels_stand_beside_the_given_ones(hf_run: Path, tmp_path: Path) -> None:
    assert export_run(hf_run, "hf_dataset", tmp_path / "out") == 36
    found = datasets.load_from_disk(str(tmp_path / "out"))
    train, test = found["train"], found["test"]
    assert train.features == test.features, "which push_to_hub asks for"
    assert train.features["corrected_label"].names == NAMES
    assert train["label"][:] == animals(36)["label"][:] and train[0]["image"].size == (8, 8)
    assert train[1]["corrected_label"] == 2 and train[1]["label_source"] == "reviewed"
    rows = {row["id"]: row for row in read_run(hf_run).labels.to_pylist()}
    for place, row in enumerate(train):
        own = rows[f"train/{place}"]
        assert row["label_quality"] == pytest.approx(own["quality"], abs=1e-6)
        if place != 1:
            assert row["corrected_label"] == (own["corrected"] if own["decision"] == "relabel" else own["given"])
    assert set(test["corrected_label"]) == {None} and test["label"][:] == animals(9, 1)["label"][:]
    train.to_parquet(str(tmp_path / "train.parquet"))
    assert datasets.Dataset.from_parquet(str(tmp_path / "train.parquet"), cache_dir=tmp_path).features == train.features


@pytest.mark.slow
def test_it_is_pushed_to_a_hub_as_it_stands(hf_run: Path, tmp_path: Path) -> None:
    export_run(hf_run, "hf_dataset", tmp_path / "out")
    code = (
        f"import datasets; datasets.load_from_disk({str(tmp_path / 'out')!r}).push_to_hub('me/animals', token='hf_x')"
    )
    with local_hub(tmp_path / "hub") as address:
        here = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
        known = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"} | here
        command = [sys.executable, "-c", code]
        ended = subprocess.run(command, cwd=tmp_path, env=known, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    sent = datasets.load_from_disk(str(tmp_path / "out"))
    pushed = datasets.load_dataset(str(tmp_path / "hub"), cache_dir=tmp_path)
    assert pushed["train"].features["corrected_label"].names == NAMES
    for name in ("train", "test"):
        assert pushed[name].features == sent[name].features
        for column in ("label", "corrected_label", "label_source", "label_quality"):
            assert pushed[name][column][:] == sent[name][column][:]


def test_a_loaded_dataset_is_trained_on_and_gets_its_labels(tmp_path: Path) -> None:
    source = datasets.Dataset.from_dict(
        {"v": [[float(n % 2), 1.0, float(n)] for n in range(40)], "label": [n % 2 for n in range(40)]}
    )
    pencil.fit(source, out=tmp_path / "run", settings=QUICK, epochs=(1, 1, 1))
    found = add_corrected_labels(source, tmp_path / "run")
    assert found.column_names == ["v", "label", "corrected_label", "label_source", "label_quality"]
    assert found.features["corrected_label"].names == ["0", "1"]
    assert None not in found["corrected_label"][:]
    with pytest.raises(PencilError, match="already"):
        add_corrected_labels(found, tmp_path / "run")
    with pytest.raises(PencilError, match="streaming dataset"):
        add_corrected_labels(source.to_iterable_dataset(), tmp_path / "run")
    with pytest.raises(PencilError, match="no example"):
        add_corrected_labels(datasets.DatasetDict({"train": source}), tmp_path / "run")
    with pytest.raises(PencilError, match="given in Python"):
        export_run(tmp_path / "run", "hf_dataset", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_other_data_becomes_a_dataset(photo_run: Path, table_run: Path, array_run: Path, tmp_path: Path) -> None:
    export_run(photo_run, "hf_dataset", tmp_path / "photos")
    photos = datasets.load_from_disk(str(tmp_path / "photos"))
    assert len(photos) == 36 and photos[0]["corrected_label"] == 2 and photos[0]["label_source"] == "reviewed"
    assert photos.features["image"] == datasets.Image() and photos[0]["image"].size == (8, 8)
    export_run(array_run, "hf_dataset", tmp_path / "arrays")
    ids = read_run(array_run).labels["id"].to_pylist()
    arrays = datasets.load_from_disk(str(tmp_path / "arrays"))
    assert arrays["id"][:] == ids
    pixels = {np.asarray(row["image"]).tobytes() for row in arrays}
    assert pixels == {image.tobytes() for image in np.load(array_run.parent / "images.npz")["x"]}
    export_run(table_run, "hf_dataset", tmp_path / "table")
    table: Any = datasets.load_from_disk(str(tmp_path / "table"))
    assert table.column_names[:3] == ["id", "size", "label"]
    assert [row["label"] for row in table if row["id"] == "5"] == [None]


def test_columns_of_a_table_are_what_they_were(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    said = ["good and cheap", "bad but not cheap at all"]
    table = pa.table(
        {
            "key": [f"k{n}" for n in range(40)],
            "said": [said[n % 2] for n in range(40)],
            "colour": [("red", "", "green=dark")[n % 3] for n in range(40)],
            "place": rng.normal(size=(40, 3)).astype(np.float32).tolist(),
            "v[0]": [float(n) for n in range(40)],
            "one": [[float(n)] for n in range(40)],
            "a=b": [("u", "v")[n % 2] for n in range(40)],
            "a=c": [("v", "w")[n % 2] for n in range(40)],
            "said~length": [float(-n) for n in range(40)],
            "kind[0]": [float(2 * n) for n in range(40)],
            "size": [None if n == 7 else n / 2 for n in range(40)],
            "kind": [f"{'ab'[n % 2]}" for n in range(40)],
        }
    )
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    options = {"id": "key", "label": "kind", "words": "said"}
    pencil.fit(
        tmp_path / "t.parquet", out=tmp_path / "run", epochs=(1, 1, 1), settings=QUICK | {"data": {"options": options}}
    )
    export_run(tmp_path / "run", "hf_dataset", tmp_path / "out")
    found = datasets.load_from_disk(str(tmp_path / "out")).sort("size")
    assert set(found.column_names) == {*table.column_names, "id", "label", *CORRECTED} - {"key", "kind"}
    before = {row["key"]: row for row in table.to_pylist()}
    for row in found:
        own = before[row["id"]]
        same = ("said", "colour", "v[0]", "one", "a=b", "a=c", "said~length", "kind[0]")
        assert [row[name] for name in same] == [own[name] for name in same]
        np.testing.assert_array_equal(np.float32(row["place"]), np.float32(own["place"]))
        assert row["size"] == own["size"] or (own["size"] is None and np.isnan(row["size"]))


@pytest.mark.parametrize("name", ["id", "label"])
def test_a_feature_does_not_replace_a_column_of_the_export(tmp_path: Path, name: str) -> None:
    rows = "".join(f"k{n},{n * 2},{'ab'[n % 2]}\n" for n in range(20))
    (tmp_path / "t.csv").write_text(f"key,{name},kind\n{rows}")
    columns = {"data": {"options": {"id": "key", "label": "kind", "features": name}}}
    pencil.fit(tmp_path / "t.csv", out=tmp_path / "run", settings=QUICK | columns, epochs=(1, 1, 1))
    with pytest.raises(PencilError, match=f'the run has a feature "{name}".*--to csv'):
        export_run(tmp_path / "run", "hf_dataset", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_rows_that_are_known_by_their_place_must_be_those_of_the_run(tmp_path: Path) -> None:
    shown = animals(36)
    pencil.fit(shown, out=tmp_path / "run", settings=QUICK, epochs=(1, 1, 1), cache_dir=tmp_path / "cache")
    assert len(add_corrected_labels(shown, tmp_path / "run")) == 36
    with pytest.raises(PencilError, match="another order; give the dataset as it was trained on"):
        add_corrected_labels(shown.shuffle(seed=1), tmp_path / "run")
    with pytest.raises(PencilError, match="has 10 rows, the run had 36"):
        add_corrected_labels(shown.select(range(10)), tmp_path / "run")


def test_what_a_run_said_of_the_labels_is_nothing_to_learn_them_from(table_run: Path, tmp_path: Path) -> None:
    export_run(table_run, "hf_dataset", tmp_path / "out")
    for label in ("label", "corrected_label"):
        again = data.read(DataSettings(source=f"hf:{tmp_path / 'out'}", options={"label": label}))
        assert again.facts["features"] == ["size"]
    named = datasets.load_from_disk(str(tmp_path / "out")).rename_column("label", "kind")
    named = named.remove_columns("label_source")
    named.save_to_disk(str(tmp_path / "named"))
    again = data.read(DataSettings(source=f"hf:{tmp_path / 'named'}", options={"label": "corrected_label"}))
    assert again.facts["features"] == ["size"]


def test_whole_numbers_stay_what_they_are(tmp_path: Path) -> None:
    tokens = np.arange(40).reshape(20, 2)
    np.savez(tmp_path / "tokens.npz", x=tokens, y=np.arange(20) % 2)
    network = torch.nn.Sequential(torch.nn.Embedding(40, 1), torch.nn.Flatten(), torch.nn.Linear(2, 2))
    own = {"raw": True, "backbone": network, "settings": {"hardware": QUICK["hardware"]}}
    pencil.fit(tmp_path / "tokens.npz", out=tmp_path / "run", epochs=(1, 1, 1), **own)
    export_run(tmp_path / "run", "hf_dataset", tmp_path / "out")
    found = datasets.load_from_disk(str(tmp_path / "out"))
    assert found.features["features"].feature.dtype == "int64", "a float holds no large number to the last digit"
    assert found["features"][:] == tokens.tolist()
