"""CIFAR-10 and CIFAR-100 in both published layouts."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pencil.errors import PencilError


@pytest.mark.parametrize("layout", ["cifar10_binary", "cifar10_pickles"])
@pytest.mark.parametrize("at_parent", [True, False])
def test_cifar10(fakes, load_data, tmp_path, layout, at_parent):
    folder = getattr(fakes, layout)(tmp_path / "root")
    data = load_data("cifar10", root=str(folder.parent if at_parent else folder), held_out=0.0)
    assert len(data.train) == 50 and len(data.test) == 10 and data.num_classes == 10
    np.testing.assert_array_equal(data.train.inputs.array[10:20], fakes.pixels(10, seed=1))
    np.testing.assert_array_equal(data.test.inputs.array, fakes.pixels(10, seed=5))
    np.testing.assert_array_equal(data.train.given, np.arange(50) % 10)
    assert data.train.ids[12] == "train/00012" and data.default_backbone == "preact_resnet32"
    assert (data.preparation.crop, data.preparation.pad, data.preparation.flip) == (32, 4, True)


@pytest.mark.parametrize("binary", [True, False])
def test_cifar100_and_its_superclasses(fakes, load_data, tmp_path, binary):
    folder = fakes.cifar100(tmp_path, binary=binary)
    fine = load_data(folder, held_out=0.0)
    assert fine.num_classes == 100 and fine.class_names[7] == "fine7" and fine.default_backbone == "resnet34"
    np.testing.assert_array_equal(fine.train.given, np.arange(200) % 100)
    np.testing.assert_array_equal(fine.test.inputs.array, fakes.pixels(200, seed=1))
    coarse = load_data("cifar100", root=str(folder), options={"coarse": True}, held_out=0.0)
    assert coarse.num_classes == 20 and coarse.class_names[3] == "coarse3"
    np.testing.assert_array_equal(coarse.train.given, np.arange(200) % 100 // 5)


def test_labels_that_people_gave(fakes, load_data, tmp_path):
    fakes.cifar10_binary(tmp_path)
    human = (np.arange(50) + 1) % 10
    np.savez(tmp_path / "n.npz", aggre_label=human, clean_label=np.arange(50) % 10)
    data = load_data("cifar10", root=str(tmp_path), labels=f"{tmp_path}/n.npz:aggre_label", held_out=0.0)
    np.testing.assert_array_equal(data.train.given, human)
    np.testing.assert_array_equal(data.train.clean, np.arange(50) % 10)


def test_files_that_are_missing_or_cut_off(fakes, load_data, tmp_path):
    with pytest.raises(PencilError, match=r"holds no CIFAR-10"):
        load_data("cifar10", root=str(tmp_path))
    folder = fakes.cifar10_binary(tmp_path)
    batch = folder / "data_batch_3.bin"
    batch.write_bytes(batch.read_bytes()[:-1])
    with pytest.raises(PencilError, match=r"data_batch_3\.bin has 30729 bytes"):
        load_data("cifar10", root=str(tmp_path))
    batch.unlink()
    with pytest.raises(PencilError, match=r"data_batch_3\.bin is missing"):
        load_data("cifar10", root=str(tmp_path))


def test_a_pickle_without_images(fakes, load_data, tmp_path):
    folder = fakes.cifar10_pickles(tmp_path)
    fakes.old_pickle(folder / "data_batch_2", {"labels": [1, 2]})
    with pytest.raises(PencilError, match=r"data_batch_2 is not a batch of CIFAR-10"):
        load_data("cifar10", root=str(tmp_path))


def test_the_real_labels_of_people(load_data, tmp_path):
    """CIFAR-10N's published shares of wrong labels, over the real labels with blank images."""
    place = os.environ.get("PENCIL_TEST_DATA")
    if not place:
        pytest.skip("PENCIL_TEST_DATA names no folder with CIFAR-10")
    real = Path(place) / "cifar10"
    labels = np.load(real / "train_labels.npy")
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    records = np.zeros((50_000, 3073), np.uint8)
    records[:, 0] = labels
    for batch in range(5):
        records[10_000 * batch : 10_000 * (batch + 1)].tofile(folder / f"data_batch_{batch + 1}.bin")
    records[:10_000].tofile(folder / "test_batch.bin")
    for key, percent in (("aggre_label", 9.0), ("random_label1", 17.2)):
        data = load_data("cifar10", root=str(tmp_path), labels=f"{real}/cifar10n_labels.npz:{key}", held_out=0.0)
        assert 100 * (data.train.given != data.train.clean).mean() == pytest.approx(percent, abs=0.06)


@pytest.mark.slow
def test_a_real_batch(load_data, tmp_path):
    """One real mosaic, in all six files: the published channel means."""
    place = os.environ.get("PENCIL_TEST_DATA")
    if not place:
        pytest.skip("PENCIL_TEST_DATA names no folder with CIFAR-10")
    mosaic = np.asarray(Image.open(Path(place) / "cifar10" / "test.webp").convert("RGB")).reshape(100, 32, 100, 32, 3)
    planes = mosaic.transpose(0, 2, 4, 1, 3).reshape(10_000, 3072)
    labels = np.load(Path(place) / "cifar10" / "test_labels.npy").astype(np.uint8)
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
        np.concatenate([labels[:, None], planes], axis=1).tofile(folder / f"{name}.bin")
    data = load_data(tmp_path, held_out=0.0)
    # The means of all of CIFAR-10 are .4914, .4822, .4465; those of a fifth lie within a percent.
    np.testing.assert_allclose(np.array(data.preparation.mean) / 255, [0.4914, 0.4822, 0.4465], atol=0.01)
