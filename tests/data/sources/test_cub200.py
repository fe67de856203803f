"""CUB-200-2011 in its own layout."""

import numpy as np
import pytest

from pencil.config import DataSettings
from pencil.data.load import original_files
from pencil.errors import PencilError


def test_the_published_sets(fakes, load_data, tmp_path):
    fakes.cub200(tmp_path)
    data = load_data("cub200", root=str(tmp_path), options={"size": 20}, held_out=0.0)
    assert len(data.train) == 9 and len(data.test) == 3 and data.class_names[1] == "002.Auklet"
    assert data.test.ids.tolist() == [
        f"00{k}.{n}/bird_{4 * k:04d}.jpg" for k, n in ((1, "Albatross"), (2, "Auklet"), (3, "Bunting"))
    ]
    assert data.train.given.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2] and data.test.given.tolist() == [0, 1, 2]
    # JPEG loses a little: the right image is still by far the nearest.
    distance = np.abs(fakes.pixels(12, 20).astype(int) - data.test.inputs.array[1].astype(int)).mean(axis=(1, 2, 3))
    assert distance.argmin() == 7


def test_the_image_files_go_by_id(fakes, load_data, tmp_path):
    folder = fakes.cub200(tmp_path)
    data = load_data(folder, options={"size": 20}, held_out=0.0)
    files = original_files(DataSettings(source=str(folder)))
    ids = [*data.train.ids.tolist(), *data.test.ids.tolist()]
    assert set(files) == set(ids) and all(files[name].is_file() for name in ids)


def test_how_it_is_prepared(fakes, load_data, tmp_path):
    data = load_data(fakes.cub200(tmp_path))
    assert data.preparation.raw_shape == (256, 256, 3) and data.preparation.crop == 224
    assert data.preparation.mean == (123.675, 116.28, 103.53) and data.default_backbone == "resnet50"


def test_missing_and_wrong_lists_are_named(fakes, load_data, tmp_path):
    folder = fakes.cub200(tmp_path)
    lines = (folder / "image_class_labels.txt").read_text()
    (folder / "image_class_labels.txt").write_text(lines.replace("12 3", "12 9"))
    with pytest.raises(PencilError, match=r'"12" has the class 9; give 1 to 3'):
        load_data(folder)
    (folder / "image_class_labels.txt").write_text(lines.replace("12 3\n", ""))
    with pytest.raises(PencilError, match=r"image 12 has no class"):
        load_data(folder)
    (folder / "image_class_labels.txt").write_text("12\n")
    with pytest.raises(PencilError, match=r"line 1"):
        load_data(folder)
    (folder / "images.txt").unlink()
    with pytest.raises(PencilError, match=r"images\.txt is missing"):
        load_data(folder)


def test_classes_go_by_their_numbers(fakes, load_data, tmp_path):
    folder = fakes.cub200(tmp_path)
    lines = (folder / "classes.txt").read_text().splitlines()
    (folder / "classes.txt").write_text("\n".join(reversed(lines)))
    data = load_data(folder, options={"size": 20}, held_out=0.0)
    assert [data.class_names[label] for label in data.train.given] == [name.split("/")[0] for name in data.train.ids]
    (folder / "classes.txt").write_text("\n".join(lines).replace("3 ", "4 "))
    with pytest.raises(PencilError, match=r"classes\.txt does not number its classes from 1 to 3"):
        load_data(folder)
