"""Folders of images."""

import os
import sys

import numpy as np
import pytest

from pencil.backbones import SMALL_SIDE
from pencil.config import DataSettings
from pencil.data import read
from pencil.errors import PencilError
from pencil.run.planning.plan import plan


def test_one_folder_of_classes(fakes, load_data, tmp_path):
    fakes.image_folder(tmp_path / "pets", classes=("dog", "cat"))
    fakes.save_image(tmp_path / "pets" / "cat" / "more" / "0.png", fakes.pixels(1, 16)[0])
    (tmp_path / "pets" / "cat" / ".hidden").write_text("")
    (tmp_path / "pets" / "README").write_text("")
    data = load_data(tmp_path / "pets", held_out=0.0)
    assert data.class_names == ("cat", "dog")
    assert data.train.ids.tolist() == [
        *(f"cat/{n}.png" for n in range(3)),
        "cat/more/0.png",
        "dog/0.png",
        "dog/1.png",
        "dog/2.png",
    ]
    assert data.train.given.tolist() == [0, 0, 0, 0, 1, 1, 1]
    np.testing.assert_array_equal(data.train.inputs.array[4:], fakes.pixels(3, 16, seed=0))


def test_what_is_left_out_is_counted(fakes, load_data, tmp_path):
    fakes.image_folder(tmp_path / "pets")
    assert "left_out" not in load_data(tmp_path / "pets").facts
    for name in ("loose.png", "LOOSE.JPG", ".hidden.png", "notes.txt"):
        (tmp_path / "pets" / name).write_bytes(b"")
    (tmp_path / "pets" / "cat" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    facts = load_data(tmp_path / "pets").facts
    assert facts["left_out"] == "pets: left out are 2 images beside the class folders and 1 link leading nowhere."
    (tmp_path / "pets" / "cat" / "gone.png").unlink()
    facts = load_data(tmp_path / "pets").facts
    assert facts["left_out"] == "pets: left out are 2 images beside the class folders."


def test_what_is_left_out_of_sets_is_told_when_a_run_is_planned(fakes, tmp_path):
    for name in ("train", "test"):
        fakes.image_folder(tmp_path / "pets" / name)
    (tmp_path / "pets" / "loose.png").write_bytes(b"")
    (tmp_path / "pets" / "test" / "loose.png").write_bytes(b"")
    (tmp_path / "pets" / "test" / "dog" / "gone.png").symlink_to("nowhere.png")
    planned = plan(tmp_path / "pets", {"backbone": "mlp"}, cache_dir=tmp_path / "cache")
    assert any("2 images beside the class folders" in line and "1 link" in line for line in planned.warnings)


def test_sets_of_their_own(fakes, load_data, tmp_path):
    for name, count in (("train", 4), ("val", 2), ("test", 1)):
        fakes.image_folder(tmp_path / "pets" / name, per_class=count)
    data = load_data(tmp_path / "pets", held_out=0.5)
    assert [len(part) for part in (data.train, data.held_out, data.test)] == [8, 4, 2]
    assert data.test.ids.tolist() == ["test/cat/0.png", "test/dog/0.png"]
    np.testing.assert_array_equal(data.test.inputs.array[1], fakes.pixels(1, 16, seed=1)[0])


def test_sets_beside_folders_of_other_names_are_no_classes(fakes, load_data, tmp_path):
    for name in ("train", "val", "unlabelled"):
        fakes.image_folder(tmp_path / "pets" / name)
    with pytest.raises(PencilError, match=r"unlabelled beside train, which looks like a set; .* rename it, or move"):
        load_data(tmp_path / "pets")
    fakes.image_folder(tmp_path / "more" / "train")
    fakes.image_folder(tmp_path / "more" / "dev")
    with pytest.raises(PencilError, match="folder dev beside train"):
        load_data(tmp_path / "more")
    fakes.image_folder(tmp_path / "traffic" / "train", classes=("fast", "slow"))
    fakes.image_folder(tmp_path / "traffic" / "car", classes=("red", "blue"))
    assert load_data(tmp_path / "traffic").class_names == ("car", "train")


def test_a_class_may_be_called_train(fakes, load_data, tmp_path):
    fakes.image_folder(tmp_path / "traffic", classes=("car", "train"))
    assert load_data(tmp_path / "traffic").class_names == ("car", "train")


def test_small_images_are_kept_large_ones_are_photographs(fakes, load_data, tmp_path):
    small = load_data(fakes.image_folder(tmp_path / "small"))
    preparation = small.preparation
    assert (preparation.raw_shape, preparation.crop, preparation.pad, preparation.flip) == ((16, 16, 3), 16, 2, True)
    assert small.default_backbone == "small_cnn" and "photographs" not in small.facts
    large = load_data(fakes.image_folder(tmp_path / "large", side=300))
    assert (large.preparation.raw_shape, large.preparation.crop) == ((256, 256, 3), 224)
    assert large.default_backbone == "" and large.facts["photographs"]
    smaller = load_data(tmp_path / "large", options={"size": SMALL_SIDE})
    assert smaller.default_backbone == "small_cnn", "as a run that chooses a large network says"
    (said,) = [line for line in plan(load_data(tmp_path / "large"), {}).warnings if "resnet50" in line]
    assert f"--set data.options.size={SMALL_SIDE}" in said


def test_options_set_the_sizes(fakes, load_data, tmp_path):
    folder = fakes.image_folder(tmp_path / "large", side=70)
    preparation = load_data(folder, options={"size": 96, "crop": 80}).preparation
    assert (preparation.raw_shape, preparation.crop) == ((96, 96, 3), 80)
    with pytest.raises(PencilError, match=r"option crop is 97"):
        load_data(folder, options={"size": 96, "crop": 97})
    with pytest.raises(PencilError, match=r"option size is 'big'"):
        load_data(folder, options={"size": "big"})


def test_a_file_that_is_no_image_is_named(fakes, load_data, tmp_path):
    fakes.image_folder(tmp_path / "pets")
    (tmp_path / "pets" / "cat" / "notes.txt").write_text("hello")
    with pytest.raises(PencilError, match=r"notes\.txt is not an image"):
        load_data(tmp_path / "pets")


def test_empty_folders_are_named(fakes, load_data, tmp_path):
    (tmp_path / "nothing").mkdir()
    with pytest.raises(PencilError, match=r"nothing holds no folders"):
        load_data(tmp_path / "nothing")
    fakes.image_folder(tmp_path / "pets")
    (tmp_path / "pets" / "bird").mkdir()
    with pytest.raises(PencilError, match=r"bird holds no images"):
        load_data(tmp_path / "pets")


def test_one_class_is_not_enough(fakes, load_data, tmp_path):
    with pytest.raises(PencilError, match=r'has 1 class \("cat"\)'):
        load_data(fakes.image_folder(tmp_path / "pets", classes=("cat",)))


def test_a_test_class_that_training_lacks(fakes, load_data, tmp_path):
    fakes.image_folder(tmp_path / "pets" / "train")
    fakes.image_folder(tmp_path / "pets" / "test", classes=("cats",))
    with pytest.raises(PencilError, match=r'no training class. Did you mean "cat"'):
        load_data(tmp_path / "pets")


@pytest.mark.parametrize("twice", [("train", "training"), ("val", "validation")])
def test_two_folders_of_one_set_are_refused(fakes, load_data, tmp_path, twice):
    for name in {"train", *twice}:
        fakes.image_folder(tmp_path / "pets" / name)
    with pytest.raises(PencilError, match=f"the folders {twice[0]} and {twice[1]}, which are the same set"):
        load_data(tmp_path / "pets")


def test_linked_folders_inside_a_class_are_told(fakes, load_data, tmp_path):
    fakes.image_folder(tmp_path / "pets")
    fakes.image_folder(tmp_path / "elsewhere", classes=("more", "horse"))
    (tmp_path / "pets" / "horse").symlink_to(tmp_path / "elsewhere" / "horse")
    data = load_data(tmp_path / "pets")
    assert data.num_classes == 3 and "left_out" not in data.facts
    (tmp_path / "pets" / "cat" / "more").symlink_to(tmp_path / "elsewhere" / "more")
    (tmp_path / "pets" / "horse" / "more").symlink_to(tmp_path / "elsewhere" / "more")
    facts = load_data(tmp_path / "pets").facts
    assert facts["left_out"] == "pets: left out are 2 linked folders inside the class folders."


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have names in Unicode alone")
@pytest.mark.parametrize("flat", [False, True])
def test_a_name_that_is_not_utf8_is_named(fakes, tmp_path, flat):
    fakes.image_folder(tmp_path / "pets")
    folder = tmp_path / "pets" / "cat"
    os.rename(folder / "0.png", os.fsencode(folder) + b"/caf\xe9.png")
    with pytest.raises(PencilError, match=r"cat/caf\\udce9\.png' is not UTF-8; rename it"):
        read(DataSettings(source=str(folder if flat else folder.parent)), cache_dir=tmp_path, labels_needed=not flat)


def test_images_that_use_few_of_their_bits_are_told_and_read_by_an_option(fakes, load_data, tmp_path):
    values = np.random.default_rng(0).integers(0, 4096, (8, 12, 12), dtype=np.uint16)
    for place, image in enumerate(values):
        fakes.save_image(tmp_path / "scans" / "ab"[place % 2] / f"{place}.png", image)
    data = load_data(tmp_path / "scans", held_out=0.0)
    assert data.facts["dark"].endswith("few shades of grey are left; if so, give --set data.options.bits=12.")
    assert any("data.options.bits=12" in line for line in plan(str(tmp_path / "scans"), {}).warnings)
    data = load_data(tmp_path / "scans", held_out=0.0, options={"bits": 12})
    np.testing.assert_array_equal(data.train.inputs.array[0, :, :, 0], values[0] >> 4)
    assert "dark" not in data.facts
    with pytest.raises(PencilError, match="option bits is 17; give 8 to 16"):
        load_data(tmp_path / "scans", options={"bits": 17})
    dark = fakes.save_image(tmp_path / "masks" / "a" / "1.png", np.ones((12, 12), np.uint8)).parent.parent
    fakes.save_image(dark / "b" / "1.png", np.zeros((12, 12), np.uint8))
    assert "dark" not in load_data(dark, held_out=0.0).facts, "there are no more bits in the files"
