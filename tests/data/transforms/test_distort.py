"""Distorted images: what each distortion does, against torch's and NumPy's own, and on what its draws depend."""

import math

import numpy as np
import pytest
import torch
from scipy.ndimage import map_coordinates
from torch import Tensor

from pencil.data.transforms import distort as module
from pencil.data.transforms.distort import distort

N = 400


def images(n: int = N, height: int = 12, width: int = 16) -> Tensor:
    return torch.randn(n, 3, height, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def of(values: Tensor, strength: float = 1.0, *, seed: int = 0, epoch: int = 0, index: Tensor | None = None) -> Tensor:
    return distort(values, strength, seed, torch.tensor([epoch]), torch.arange(len(values)) if index is None else index)


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64).view(-1, 1, 1, 1)


ON, OFF, NONE = column(1), column(0), column(0)


def test_without_strength_images_stay_as_they_are() -> None:
    # Resampling on the same grid computes each pixel anew.
    torch.testing.assert_close(of(images(), 0.0), images())


def test_draws_depend_on_seed_epoch_and_example_alone() -> None:
    whole, order = of(images(), seed=3, epoch=5), torch.randperm(N)
    assert torch.equal(of(images()[order], seed=3, epoch=5, index=order), whole[order])
    for other in (of(images(), seed=4, epoch=5), of(images(), seed=3, epoch=6)):
        assert ((other - whole).flatten(1).abs().amax(1) > 0).double().mean() > 0.95


def test_a_tilt_takes_each_pixel_from_where_the_map_says() -> None:
    height, width = 12, 16
    image = images(1, height, width)
    angle, shear_x, shear_y, zoom = 0.4, 0.2, -0.1, 0.15
    tilted = module._tilted(image, ON, *(column(v) for v in (angle, shear_x, shear_y, zoom)))
    y, x = np.meshgrid(np.arange(height) - (height - 1) / 2, np.arange(width) - (width - 1) / 2, indexing="ij")
    from_x = math.exp(zoom) * (math.cos(angle) * x + (shear_x - math.sin(angle)) * y) + (width - 1) / 2
    from_y = math.exp(zoom) * (math.cos(angle) * y + (shear_y + math.sin(angle)) * x) + (height - 1) / 2
    for channel in range(3):
        # A border of zeros around the image is what lies outside it.
        padded = np.pad(image[0, channel].numpy(), 30)
        expected = map_coordinates(padded, [from_y + 30, from_x + 30], order=1)
        np.testing.assert_allclose(tilted[0, channel].numpy(), expected, atol=1e-12)
    torch.testing.assert_close(module._tilted(image, OFF, column(0.4), NONE, NONE, NONE), image)


def test_colours_change_by_brightness_contrast_and_saturation() -> None:
    image = images(1)
    grey = image.mean(1, keepdim=True)

    def coloured(*amounts: float, on: Tensor = ON) -> Tensor:
        return module._coloured(image, on, *(column(v) for v in amounts))

    torch.testing.assert_close(coloured(0.7, 0, 0), image + 0.7)
    torch.testing.assert_close(coloured(0, 0, -1), grey.expand_as(image))
    torch.testing.assert_close(coloured(0, -1, 0), grey.mean().expand_as(image))
    torch.testing.assert_close(coloured(0, 0.5, 0), grey.mean() + 1.5 * (image - grey.mean()))
    torch.testing.assert_close(coloured(0.7, 0.5, 0.5, on=OFF), image)


def test_the_hole_is_a_square_of_the_mean_colour_anywhere() -> None:
    ones = torch.ones(1, 3, 20, 20, dtype=torch.float64)
    hole = module._with_hole(ones, column(0.4), column(0.5), column(0.25))
    assert int((hole[0, 0] == 0).sum()) == 8 * 8
    assert not hole[0, :, 6:14, 1:9].any() and hole[0, :, 5].all() and hole[0, :, :, 9].all()
    assert torch.equal(module._with_hole(ones, NONE, column(0.5), column(0.5)), ones)


@pytest.mark.parametrize("strength", [0.3, 1.0])
def test_half_of_the_images_keep_their_places_and_half_their_colours(strength: float) -> None:
    slope = torch.arange(8.0, dtype=torch.float64).expand(4000, 3, 8, 8).contiguous() + 5
    out = of(slope, strength)
    kept = (((out - slope).abs() < 1e-9) | (out == 0)).flatten(1).all(1).double().mean()
    assert 0.22 < kept < 0.28, "neither tilted nor coloured"
    holes = (out == 0).flatten(1).double().mean(1)
    assert 0 < holes.mean() < 0.25 * strength**2


def test_compiled_it_gives_the_same() -> None:
    values = images(16).float()
    compiled = torch.compile(distort, fullgraph=True, dynamic=False, backend="aot_eager")
    arguments = 1.0, 0, torch.tensor([2]), torch.arange(16)
    torch.testing.assert_close(compiled(values, *arguments), distort(values, *arguments))
