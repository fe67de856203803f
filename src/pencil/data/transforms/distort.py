"""Distorts prepared images, so that a network cannot know them again by their pixels: tilt, colours, a hole.

Draws are a stateless function of (seed, epoch, example), as all augmentation's are. Values are normalised, so 0 is
the data's mean colour and 1 its spread: what a strength means does not depend on the data. Shapes: B images of
C channels, H × W pixels.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import grid_sample

from pencil.data.transforms.augment import draw

FIRST_STREAM = 16
"""Streams of draws from here on are the distortions'."""
TILT = math.pi / 6
SHEAR = 0.3
ZOOM = 0.25
BRIGHTNESS, CONTRAST, SATURATION = 0.8, 0.8, 1.0
HOLE = 0.5
"""The largest side of the hole, in sides of the image."""


def distort(images: Tensor, strength: float, seed: int, epoch: Tensor, index_B: Tensor) -> Tensor:
    """Tilt and shear half of the images, change the colours of half, and put a hole of the mean colour into each."""
    draws_B = iter(
        draw(seed, epoch, index_B, FIRST_STREAM + n).to(images.dtype).view(-1, 1, 1, 1) / 2**32 for n in range(12)
    )

    def amount(largest: float) -> Tensor:
        return (2 * next(draws_B) - 1) * (largest * strength)

    def half() -> Tensor:
        return (next(draws_B) < 0.5).to(images.dtype)

    moved = _tilted(images, half(), amount(TILT), amount(SHEAR), amount(SHEAR), amount(ZOOM))
    coloured = _coloured(moved, half(), amount(BRIGHTNESS), amount(CONTRAST), amount(SATURATION))
    return _with_hole(coloured, next(draws_B) * (HOLE * strength), next(draws_B), next(draws_B))


def _tilted(images: Tensor, is_on: Tensor, angle: Tensor, shear_x: Tensor, shear_y: Tensor, zoom: Tensor) -> Tensor:
    height, width = images.shape[-2:]
    least = min(height, width)
    y, x = _centred(images, height) / least, _centred(images, width) / least
    y, x = y.view(1, height, 1, 1), x.view(1, 1, width, 1)
    angle, factor = is_on * angle, torch.exp(is_on * zoom)
    from_x = factor * (angle.cos() * x + (is_on * shear_x - angle.sin()) * y)
    from_y = factor * (angle.cos() * y + (is_on * shear_y + angle.sin()) * x)
    grid_BHW2 = torch.cat([from_x * (2 * least / width), from_y * (2 * least / height)], dim=-1)
    return grid_sample(images, grid_BHW2, mode="bilinear", padding_mode="zeros", align_corners=False)


def _coloured(images: Tensor, is_on: Tensor, brightness: Tensor, contrast: Tensor, saturation: Tensor) -> Tensor:
    grey = images.mean(1, keepdim=True)
    level = grey.mean((2, 3), keepdim=True)
    vivid = grey + (images - grey) * (1 + is_on * saturation)
    return level + (vivid - level) * (1 + is_on * contrast) + is_on * brightness


def _with_hole(images: Tensor, side: Tensor, top: Tensor, left: Tensor) -> Tensor:
    height, width = images.shape[-2:]
    y, x = _centred(images, height) / height + 0.5, _centred(images, width) / width + 0.5
    # Its centre lies anywhere in the image, so it may hang over the border.
    tall, wide = (y.view(1, 1, -1, 1) - top).abs() < side / 2, (x.view(1, 1, 1, -1) - left).abs() < side / 2
    return torch.where(tall & wide, torch.zeros_like(images), images)


def _centred(images: Tensor, side: int) -> Tensor:
    return torch.arange(side, device=images.device, dtype=images.dtype) - (side - 1) / 2
