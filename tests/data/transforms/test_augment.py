"""Augmentation on the device: crops and mirrors that depend on nothing but seed, epoch and example."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor
from torch.nn.functional import pad

from pencil.data.dataset import Preparation
from pencil.data.transforms.augment import Prepare, draw

N = 400


def preparation(**more: object) -> Preparation:
    how = {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0), "crop": 8, "pad": 2, "flip": True} | more
    return Preparation("images", (8, 8, 3), **how)  # type: ignore[arg-type]


def images(n: int = N, height: int = 8, width: int = 8) -> Tensor:
    # From 1: a zero in the result can only be padding.
    return torch.randint(1, 256, (n, height, width, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def epoch(number: int) -> Tensor:
    return torch.tensor([number])


def every_view(image_HWC: Tensor, padding: int, side_y: int, side_x: int) -> dict[tuple[int, int, bool], Tensor]:
    """All crops of a padded image, straight and mirrored, made with torch's own padding and slicing."""
    padded = pad(image_HWC.permute(2, 0, 1), (padding,) * 4).float()
    views = {}
    for top in range(padded.shape[1] - side_y + 1):
        for left in range(padded.shape[2] - side_x + 1):
            cut = padded[:, top : top + side_y, left : left + side_x]
            views[top, left, False], views[top, left, True] = cut, cut.flip(-1)
    return views


@pytest.mark.parametrize(
    ("height", "width", "crop", "padding"), [(8, 8, 8, 2), (8, 8, 6, 0), (7, 9, 0, 1), (8, 8, 5, 1)]
)
def test_each_image_is_one_of_the_crops_of_its_padded_self_and_all_crops_come_up(
    height: int, width: int, crop: int, padding: int
) -> None:
    how = Preparation("images", (height, width, 3), (0.0,) * 3, (1.0,) * 3, crop=crop, pad=padding, flip=True)
    raw = images(1, height, width)
    index = torch.arange(N)
    # The same image under many ids, so that every offset is drawn for it.
    out = Prepare(how, seed=1)(raw.expand(N, -1, -1, -1), index, epoch(0))
    views = every_view(raw[0], padding, crop or height, crop or width)
    seen = []
    for image in out:
        matching = [key for key, view in views.items() if torch.equal(view, image)]
        assert len(matching) == 1
        seen.append(matching[0])
    assert set(seen) == set(views)


def test_which_crop_is_drawn_follows_from_the_three_streams() -> None:
    index, raw = torch.arange(N), images()
    top = draw(5, epoch(3), index, 0) % 5
    left = draw(5, epoch(3), index, 1) % 5
    mirrored = draw(5, epoch(3), index, 2) % 2 == 1
    out = Prepare(preparation(), seed=5)(raw, index, epoch(3))
    for i in range(50):
        expected = every_view(raw[i], 2, 8, 8)[int(top[i]), int(left[i]), bool(mirrored[i])]
        assert torch.equal(out[i], expected)


def test_draws_do_not_depend_on_batches_or_order() -> None:
    prepare, raw = Prepare(preparation(), seed=5), images()
    whole = prepare(raw, torch.arange(N), epoch(2))
    for size in (1, 7, 128):
        for index in torch.randperm(N, generator=torch.Generator().manual_seed(size))[:140].split(size):
            assert torch.equal(prepare(raw[index], index, epoch(2)), whole[index])


def test_draws_change_with_seed_epoch_example_and_stream() -> None:
    index = torch.arange(10_000)
    base = draw(1, epoch(0), index, 0)
    assert torch.equal(base, draw(1, epoch(0), index, 0))
    assert len(base.unique()) > 9_990, "examples draw apart"
    for other in (draw(2, epoch(0), index, 0), draw(1, epoch(1), index, 0), draw(1, epoch(0), index, 1)):
        assert (base == other).sum() <= 2
    assert base.min() >= 0 and base.max() < 2**32


@pytest.mark.parametrize("modulus", [2, 5, 9, 33])
@pytest.mark.parametrize("stream", [0, 1, 2])
def test_draws_are_uniform_over_examples_and_over_epochs(modulus: int, stream: int) -> None:
    over_examples = draw(0, epoch(0), torch.arange(20_000), stream) % modulus
    over_epochs = draw(0, torch.arange(5_000), torch.full((5_000,), 7), stream) % modulus
    for drawn in (over_examples, over_epochs):
        counts = np.bincount(drawn.numpy(), minlength=modulus)
        assert chisquare(counts).pvalue > 1e-4, counts


def test_offsets_and_mirrors_are_independent_of_each_other_and_of_the_last_epoch() -> None:
    index = torch.arange(20_000)
    y, x, m = (draw(3, epoch(1), index, stream) for stream in range(3))
    later = draw(3, epoch(2), index, 0)
    for one, other, sizes in ((y, x, (9, 9)), (y, m, (9, 2)), (x, m, (9, 2)), (y, later, (9, 9))):
        pairs = (one % sizes[0]) * sizes[1] + other % sizes[1]
        assert chisquare(np.bincount(pairs.numpy(), minlength=sizes[0] * sizes[1])).pvalue > 1e-4


@pytest.mark.parametrize(("size", "crop"), [(8, 8), (8, 6), (9, 4)])
def test_evaluation_is_the_plain_centre(size: int, crop: int) -> None:
    raw = images(5, size, size)
    how = Preparation("images", (size, size, 3), (0.0,) * 3, (1.0,) * 3, crop=crop, pad=2, flip=True)
    margin = (size - crop) // 2
    expected = raw[:, margin : margin + crop, margin : margin + crop].permute(0, 3, 1, 2).float()
    assert torch.equal(Prepare(how, seed=0)(raw), expected)


def test_without_padding_crop_and_mirror_training_sees_the_image() -> None:
    raw = images(5)
    out = Prepare(preparation(crop=0, pad=0, flip=False), seed=0)(raw, torch.arange(5), epoch(0))
    assert torch.equal(out, raw.permute(0, 3, 1, 2).float())


def test_images_are_normalised_per_channel_after_padding() -> None:
    raw = torch.full((1, 8, 8, 3), 100, dtype=torch.uint8)
    how = preparation(mean=(100.0, 50.0, 0.0), std=(10.0, 25.0, 50.0), flip=False)
    assert Prepare(how, 0)(raw)[0, :, 4, 4].tolist() == [0, 2, 2]
    out = Prepare(how, 0)(raw.expand(200, -1, -1, -1), torch.arange(200), epoch(0))
    # Padding is black before normalisation, as the paper's pipeline pads pixels.
    assert set(out[:, 0].unique().tolist()) == {0.0, -10.0}


def test_rows_are_normalised_per_feature_and_not_augmented() -> None:
    how = Preparation("rows", (2,), mean=(1.0, -1.0), std=(2.0, 4.0))
    raw = torch.tensor([[3.0, 7.0], [1.0, -1.0]])
    for arguments in ((), (torch.arange(2), epoch(0))):
        assert Prepare(how, 0)(raw, *arguments).tolist() == [[1, 2], [0, 0]]


def test_what_is_missing_is_seen_as_the_mean() -> None:
    how = Preparation("rows", (2,), mean=(1.0, -1.0), std=(2.0, 4.0), least=(0.5, 0.0))
    raw = torch.tensor([[math.nan, 7.0], [math.e, math.nan]])
    torch.testing.assert_close(Prepare(how, 0)(raw), torch.tensor([[0.0, 2.0], [0.0, 0.0]]))


def test_of_some_features_the_network_sees_logarithms_and_nothing_below_the_least() -> None:
    how = Preparation("rows", (2,), mean=(1.0, -1.0), std=(2.0, 4.0), least=(math.e, 0.0))
    raw = torch.tensor([[math.e**3, 7.0], [1.0, -1.0], [-5.0, 0.0]], dtype=torch.float64)
    seen = Prepare(how, 0)(raw)
    torch.testing.assert_close(seen, torch.tensor([[1, 2], [0, 0], [0, 0.25]], dtype=torch.float64), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("height", "width", "crop"), [(8, 8, 12), (8, 9, 9), (7, 11, 10)])
def test_a_crop_larger_than_the_image_is_evaluated_with_its_padding(height: int, width: int, crop: int) -> None:
    how = Preparation("images", (height, width, 3), (0.0,) * 3, (1.0,) * 3, crop=crop, pad=2, flip=True)
    raw = images(1, height, width)
    views = every_view(raw[0], 2, crop, crop)
    centre = views[(height + 4 - crop) // 2, (width + 4 - crop) // 2, False]
    assert torch.equal(Prepare(how, seed=0)(raw)[0], centre)


def test_pixels_lie_together_or_apart_as_asked() -> None:
    raw = images(4)
    planes = Prepare(preparation(), 0)(raw, torch.arange(4), epoch(0))
    pixels = Prepare(preparation(), 0, pixels_together=True)(raw, torch.arange(4), epoch(0))
    assert torch.equal(planes, pixels)
    assert planes.is_contiguous() and pixels.is_contiguous(memory_format=torch.channels_last)
