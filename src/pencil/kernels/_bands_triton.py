"""GPU kernel of the gradient of a 3×3 convolution's weights for few channels, that reads each image line once.

The pixels under one line of the kernel lie side by side in memory: a program reads them as one window, padded from
three to four, and multiplies it with the three lines of gradients that need it. It takes a band of lines of a few
images. The result is that of `_wgrad_triton`.
"""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from pencil.kernels._wgrad_triton import add_up


class Band(NamedTuple):
    """What a program takes: lines of an image, rows (pixels of one line over several images), and how it is worked."""

    lines: int
    rows: int
    stages: int
    warps: int

    def grid(self, image: Tensor) -> tuple[int, int]:
        """Return how many groups of images and how many bands of lines there are."""
        batch, _, height, width = image.shape
        return batch * width // self.rows, height // self.lines


PLANS = {32: Band(16, 64, 3, 4)}
"""By channels, what ran fastest on an H200: 16 µs at 32 channels, where `_wgrad_triton` takes 27 and cuDNN 38."""
PROGRAMS = 128
"""Bands are narrower where there would be fewer programs than this, which leaves processors of the GPU idle."""


@triton.jit
def _seen_columns(column, W, C: tl.constexpr):
    """Which values of a window lie in the image."""
    i = tl.arange(0, 4 * C)
    under = column[:, None] - 1 + (i // C)[None, :]
    return (under >= 0) & (under < W) & (i < 3 * C)[None, :]


@triton.jit
def _wgrad_kernel(
    active, grad, partial, H, W,
    INSIDE: tl.constexpr, OUTSIDE: tl.constexpr, LINES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """partial[slab, o, tap, i] = Σ over the band's rows of grad[row, o] · active[row shifted by tap, i]."""
    place = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    picture, column, first = place // W, place % W, tl.program_id(1) * LINES
    o, i = tl.arange(0, OUTSIDE), tl.arange(0, 4 * INSIDE)
    seen_column = _seen_columns(column, W, INSIDE)
    top = tl.zeros((4 * INSIDE, OUTSIDE), tl.float32)
    middle = tl.zeros((4 * INSIDE, OUTSIDE), tl.float32)
    bottom = tl.zeros((4 * INSIDE, OUTSIDE), tl.float32)
    for step in range(LINES + 2):
        line = tl.full((ROWS,), first - 1 + step, tl.int32)
        row = (picture * H + line) * W + column
        seen = ((line >= 0) & (line < H))[:, None] & seen_column
        window = tl.trans(tl.load(active + (row - 1)[:, None] * INSIDE + i[None, :], mask=seen, other=0.0))
        # The output lines that read this line, as far as they are in the band: below it, beside it, above it.
        at = grad + row[:, None] * OUTSIDE + o[None, :]
        below = tl.load(at + W * OUTSIDE, mask=(line + 1 < first + LINES)[:, None], other=0.0)
        beside = tl.load(at, mask=((line >= first) & (line < first + LINES))[:, None], other=0.0)
        above = tl.load(at - W * OUTSIDE, mask=(line > first)[:, None], other=0.0)
        top = tl.dot(window, below, top)
        middle = tl.dot(window, beside, middle)
        bottom = tl.dot(window, above, bottom)
    slab = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    at = partial + slab * (OUTSIDE * 9 * INSIDE) + o[None, :] * (9 * INSIDE) + i[:, None]
    tl.store(at, top, mask=(i < 3 * INSIDE)[:, None])
    tl.store(at + 3 * INSIDE, middle, mask=(i < 3 * INSIDE)[:, None])
    tl.store(at + 6 * INSIDE, bottom, mask=(i < 3 * INSIDE)[:, None])


def sums(image: Tensor, grad: Tensor) -> bool:
    """Say whether images divide into bands for the gradient of the weights."""
    return image.shape == grad.shape and _band(image) is not None


def weight_gradient(grad: Tensor, active: Tensor, dtype: torch.dtype) -> Tensor:
    """Return ∂kernel [C, C, 3, 3], channels last."""
    _, channels, height, width = active.shape
    band = _band(active)
    assert band is not None
    groups, bands = band.grid(active)
    partial = torch.empty(groups * bands, 9 * channels * channels, dtype=torch.float32, device=grad.device)
    _wgrad_kernel[(groups, bands)](
        active, grad, partial, height, width,
        INSIDE=channels, OUTSIDE=channels, LINES=band.lines, ROWS=band.rows,
        num_warps=band.warps, num_stages=band.stages,
    )  # fmt: skip
    return add_up(partial, channels, channels, dtype)


def _band(image: Tensor) -> Band | None:
    """Return the band for these images; None where they do not divide into such."""
    batch, channels, height, width = image.shape
    band = PLANS.get(channels)
    if band is None or band.rows % width or batch * width % band.rows:
        return None
    while band.lines > 2 and (height % band.lines or math.prod(band.grid(image)) < PROGRAMS):
        band = band._replace(lines=band.lines // 2)
    return None if height % band.lines else band
