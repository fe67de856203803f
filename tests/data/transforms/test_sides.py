"""Images are mirrored only where their mirror images look like others of them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from pencil.config.settings import DataSettings
from pencil.data import Dataset, from_arrays, prepare
from pencil.data.transforms.sides import share_told_apart


def digits(noise: float = 0.3) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    rng, (images, labels) = np.random.default_rng(0), load_digits(return_X_y=True)
    wrong = rng.random(len(labels)) < noise
    labels[wrong] = rng.integers(0, 10, wrong.sum())
    return (images.reshape(-1, 8, 8, 1) * 15).astype(np.uint8), labels


def ramps(count: int = 600) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Draw bars anywhere that become darker to the left (class 0) or to the right (class 1), of which 15% are wrong."""
    rng = np.random.default_rng(0)
    images, sides = rng.integers(0, 40, (count, 20, 24, 3), dtype=np.uint8), rng.integers(0, 2, count)
    for image, side, (top, left) in zip(images, sides, rng.integers(0, 14, (count, 2)), strict=True):
        ramp = np.linspace(40, 250, 10)[:: 1 if side == 0 else -1]
        image[top : top + 6, left : left + 10] = ramp[None, :, None]
    return images, sides ^ (rng.random(count) < 0.15)


def test_digits_are_told_from_their_mirror_images_with_wrong_labels_too() -> None:
    for noise in (0.0, 0.3, 0.9):
        assert share_told_apart(from_arrays(*digits(noise)).train) > 0.7


def test_what_is_seen_either_way_is_not_told_apart() -> None:
    images, labels = digits(0.0)
    either = np.random.default_rng(1).random(len(images)) < 0.5
    images[either] = images[either][:, :, ::-1]
    assert share_told_apart(from_arrays(images, labels).train) == 0
    same = np.concatenate([images, images[:, :, ::-1]], axis=2)
    assert share_told_apart(from_arrays(same, labels).train) == 0, "each image is its own mirror image"


def test_classes_that_are_each_others_mirror_images_are_told_apart() -> None:
    images, sides = ramps()
    assert share_told_apart(from_arrays(images, sides).train) > 0.7
    drawn = np.random.default_rng(1).integers(0, 2, len(sides))
    assert share_told_apart(from_arrays(images, drawn).train) == 0, "all of them together are not"


def test_classes_that_differ_by_the_side_on_which_something_lies_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    images, sides = rng.integers(0, 256, (400, 90, 70, 1), dtype=np.uint8), rng.integers(0, 2, 400)
    for image, side in zip(images, sides, strict=True):
        image[30:60, 5 + 35 * side : 30 + 35 * side] = 200
    assert share_told_apart(from_arrays(images, sides).train) > 0.9


def test_a_few_images_tell_nothing() -> None:
    images, labels = digits(0.0)
    assert share_told_apart(from_arrays(images[:30], labels[:30] % 2).train) == 0
    unknown = np.where(np.arange(len(labels)) < 5, labels, -1)
    assert share_told_apart(from_arrays(images, unknown, class_names=[str(n) for n in range(10)]).train) == 0


def prepared(dataset: Dataset, **augment: bool) -> Dataset:
    return prepare(dataset, DataSettings(source="x", augment=dict(augment)), seed=0)


def test_they_are_not_mirrored_unless_someone_says_so() -> None:
    dataset = from_arrays(*digits())
    seen = prepared(dataset)
    assert not seen.preparation.flip
    assert seen.facts["sided"].startswith("images are not mirrored: 8") and "augment.flip=true" in seen.facts["sided"]
    assert prepared(dataset, flip=True).preparation.flip and "sided" not in prepared(dataset, flip=True).facts
    # A source that says itself that its images are mirrored knows.
    known = replace(dataset, facts={**dataset.facts, "usual_flip": False})
    assert prepared(known).preparation.flip


@pytest.mark.parametrize("shape", [(40, 12, 12, 1), (40, 12, 20, 3), (40, 80, 80, 3)])
def test_images_that_tell_nothing_are_mirrored(shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert prepared(from_arrays(images, np.arange(40) % 2)).preparation.flip
