"""Clothing1M in its own layout."""

import numpy as np
import pytest

from pencil.config import DataSettings
from pencil.data.load import original_files
from pencil.errors import PencilError


def test_the_pseudo_balanced_subset_and_the_clean_sets(fakes, load_data, tmp_path):
    fakes.clothing1m(tmp_path / "c")
    data = load_data(tmp_path / "c", options={"size": 20})
    assert np.bincount(data.train.given).tolist() == [4, 4, 4]
    assert data.held_out.ids.tolist() == ["images/2/02.jpg", "images/2/03.jpg"] and data.held_out.given.tolist() == [
        2,
        0,
    ]
    assert data.test.given.tolist() == [1, 2] and data.class_names == ("T-Shirt", "Shirt", "Knitwear")
    known = dict(zip(data.train.ids.tolist(), data.train.clean.tolist(), strict=True))
    assert known["images/0/01.jpg"] == 2 and set(known.values()) == {2, -1}
    assert data.default_backbone == "resnet50" and "4 examples of each given class" in data.facts["subset"]


def test_the_subset_follows_its_own_seed(fakes, load_data, tmp_path):
    fakes.clothing1m(tmp_path / "c")

    def ids(seed, **options):
        return load_data(tmp_path / "c", seed=seed, options={"size": 20, "per_class": 2, **options}).train.ids.tolist()

    assert ids(0) == ids(1) != ids(0, subset_seed=1)


def test_options_take_all_and_add_trusted_examples(fakes, load_data, tmp_path):
    fakes.clothing1m(tmp_path / "c")
    data = load_data(tmp_path / "c", options={"size": 20, "per_class": 0, "clean_train": True})
    assert len(data.train) == 17 and data.train.trusted.tolist() == [False] * 15 + [True] * 2
    assert data.train.clean[-2:].tolist() == [0, 1] == data.train.given[-2:].tolist()


def test_the_image_files_go_by_id(fakes, load_data, tmp_path):
    folder = fakes.clothing1m(tmp_path / "c")
    data = load_data(folder, options={"size": 20, "per_class": 0, "clean_train": True})
    files = original_files(DataSettings(source=str(folder)))
    assert all(files[name].is_file() for name in [*data.train.ids.tolist(), *data.held_out.ids.tolist()])


def test_missing_files_and_labels_are_named(fakes, load_data, tmp_path):
    folder = fakes.clothing1m(tmp_path / "c")
    (folder / "images" / "2" / "05.jpg").unlink()
    with pytest.raises(PencilError, match=r"05\.jpg does not exist"):
        load_data(folder)
    (folder / "clean_val_key_list.txt").write_text("images/9/9.jpg\n")
    with pytest.raises(PencilError, match=r'"images/9/9\.jpg" has no label'):
        load_data(folder)
