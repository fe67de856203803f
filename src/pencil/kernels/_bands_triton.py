"""GPU kernels of 3×3 convolutions for few channels, that read each image line three times instead of nine.

At 32 and 64 channels a convolution is bound by what it reads from the cache that all processors share. The pixels under
one line of the kernel lie side by side in memory: a program reads them as one window, padded from three to four, and
adds it to the three output lines that need it. It makes a band of lines of a few images. Results are those of
`_conv_triton` and `_wgrad_triton`.
"""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from pencil.kernels._join import joined_moments, joined_sums
from pencil.kernels._norm_triton import normal_of
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


CONVOLVED: dict[int, Band] = {}
SUMMED = {32: Band(16, 64, 3, 4)}
"""By channels: for the convolution, and for the gradient of its weights."""
PROGRAMS = 128
"""Bands are narrower where there would be fewer programs than this, which leaves processors of the GPU idle."""


@triton.jit
def _seen_columns(column, W, C: tl.constexpr):
    """Which values of a window lie in the image."""
    i = tl.arange(0, 4 * C)
    under = column[:, None] - 1 + (i // C)[None, :]
    return (under >= 0) & (under < W) & (i < 3 * C)[None, :]


@triton.jit
def _conv_kernel(
    image, kernel, out, partial, extra, moments, weight, bias,
    H, W, eps, step_in, step_out, first_tap, step_tap,
    HAS_EXTRA: tl.constexpr, BACKWARD: tl.constexpr, INSIDE: tl.constexpr, OUTSIDE: tl.constexpr,
    LINES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """As the kernel of `_conv_triton`; a program makes LINES lines of the ROWS // W images of its group."""
    place = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    picture, column, first = place // W, place % W, tl.program_id(1) * LINES
    o, i = tl.arange(0, OUTSIDE), tl.arange(0, 4 * INSIDE)
    seen_column = _seen_columns(column, W, INSIDE)
    tap = kernel + first_tap + (i // INSIDE * step_tap + i % INSIDE * step_in)[:, None] + o[None, :] * step_out
    top = tl.load(tap, mask=(i < 3 * INSIDE)[:, None], other=0.0)
    middle = tl.load(tap + 3 * step_tap, mask=(i < 3 * INSIDE)[:, None], other=0.0)
    bottom = tl.load(tap + 6 * step_tap, mask=(i < 3 * INSIDE)[:, None], other=0.0)
    above = tl.zeros((ROWS, OUTSIDE), tl.float32)
    here = tl.zeros((ROWS, OUTSIDE), tl.float32)
    # Each place keeps its own moments, or sums, over the lines; the places are joined once, at the end.
    mean = tl.zeros((ROWS, OUTSIDE), tl.float32)
    spread = tl.zeros((ROWS, OUTSIDE), tl.float32)
    if BACKWARD:
        centre, scale, offset, inverse = normal_of(moments, weight, bias, o, OUTSIDE, eps)
    for step in range(LINES + 2):
        line = tl.full((ROWS,), first - 1 + step, tl.int32)
        row = (picture * H + line) * W + column
        seen = ((line >= 0) & (line < H))[:, None] & seen_column
        window = tl.load(image + (row - 1)[:, None] * INSIDE + i[None, :], mask=seen, other=0.0)
        live = line > first
        at = (row - W)[:, None] * OUTSIDE + o[None, :]
        if HAS_EXTRA:
            # Asked for before the products, so that it has arrived after them.
            besides = tl.load(extra + at, mask=live[:, None], other=0.0)
        # This line is the lowest that the line above it needs, and the highest that the one below needs.
        above = tl.dot(window, bottom, above)
        here = tl.dot(window, middle, here)
        below = tl.dot(window, top)
        if BACKWARD:
            away = besides.to(tl.float32) - centre[None, :]
            passes = (away * scale[None, :] + offset[None, :] > 0) & live[:, None]
            rounded = tl.where(passes, above, 0.0).to(out.dtype.element_ty)
            mean += rounded.to(tl.float32) * away
            spread += rounded.to(tl.float32)
        else:
            if HAS_EXTRA:
                above += besides.to(tl.float32)
            rounded = above.to(out.dtype.element_ty)
            away = tl.where(live[:, None], rounded.to(tl.float32) - mean, 0.0)
            mean += away * (1.0 / tl.maximum(step - 1, 1))
            spread += tl.where(live[:, None], away * (rounded.to(tl.float32) - mean), 0.0)
        tl.store(out + at, rounded, mask=live[:, None])
        above, here = here, below
    slab = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    if BACKWARD:
        one, two = tl.sum(mean, 0) * inverse, tl.sum(spread, 0)
    else:
        one = tl.sum(mean, 0) / ROWS
        apart = mean - one[None, :]
        two = tl.sum(spread + LINES * apart * apart, 0)
    tl.store(partial + (slab * 2) * OUTSIDE + o, one)
    tl.store(partial + (slab * 2 + 1) * OUTSIDE + o, two)


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


def convolves(image: Tensor, kernel: Tensor) -> bool:
    """Say whether images divide into bands for this convolution."""
    return kernel.shape[0] == kernel.shape[1] and _band(image, CONVOLVED) is not None


def sums(image: Tensor, grad: Tensor) -> bool:
    """Say whether images divide into bands for the gradient of the weights."""
    return image.shape == grad.shape and _band(image, SUMMED) is not None


def forward(active: Tensor, kernel: Tensor, added: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return conv(active) (+ added), and its moments; `kernel` is [C, C, 3, 3], channels last."""
    channels, out = active.shape[1], torch.empty_like(active)
    partial, rows = _convolve(
        active, kernel, out, active if added is None else added, None, 0.0, 1, 9 * channels, 0, channels,
        HAS_EXTRA=added is not None, BACKWARD=False,
    )  # fmt: skip
    return out, joined_moments(partial, active.numel() // channels, rows)


def backward(
    grad: Tensor, kernel: Tensor, x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    """Return the gradient behind the ReLU that follows BN(x), and the sums its normalisation needs."""
    channels, out = x.shape[1], torch.empty_like(x)
    partial, _ = _convolve(
        grad, kernel, out, x, (moments, weight, bias), eps, 9 * channels, 1, 8 * channels, -channels,
        HAS_EXTRA=True, BACKWARD=True,
    )  # fmt: skip
    return out, joined_sums(partial)


def weight_gradient(grad: Tensor, active: Tensor) -> Tensor:
    """Return ∂kernel [C, C, 3, 3], channels last and in 32 bits."""
    _, channels, height, width = active.shape
    band = _band(active, SUMMED)
    assert band is not None
    groups, bands = band.grid(active)
    partial = torch.empty(groups * bands, 9 * channels * channels, dtype=torch.float32, device=grad.device)
    _wgrad_kernel[(groups, bands)](
        active, grad, partial, height, width,
        INSIDE=channels, OUTSIDE=channels, LINES=band.lines, ROWS=band.rows,
        num_warps=band.warps, num_stages=band.stages,
    )  # fmt: skip
    return add_up(partial, channels, channels)


def _convolve(
    image: Tensor, kernel: Tensor, out: Tensor, extra: Tensor, norm: tuple[Tensor, Tensor, Tensor] | None, eps: float,
    *steps: int, HAS_EXTRA: bool, BACKWARD: bool,
) -> tuple[Tensor, int]:  # fmt: skip
    """Run the kernel; return the sums of each program, and how many rows of the image each took."""
    _, channels, height, width = image.shape
    band = _band(image, CONVOLVED)
    assert band is not None
    groups, bands = band.grid(image)
    partial = torch.empty(groups * bands, 2, channels, dtype=torch.float32, device=image.device)
    _conv_kernel[(groups, bands)](
        image, kernel, out, partial, extra, *(norm or (partial, partial, partial)), height, width, eps, *steps,
        HAS_EXTRA=HAS_EXTRA, BACKWARD=BACKWARD, INSIDE=channels, OUTSIDE=channels, LINES=band.lines, ROWS=band.rows,
        num_warps=band.warps, num_stages=band.stages,
    )  # fmt: skip
    return partial, band.rows * band.lines


def _band(image: Tensor, plans: dict[int, Band]) -> Band | None:
    """Return the band for these images; None where they do not divide into such."""
    batch, channels, height, width = image.shape
    band = plans.get(channels)
    if band is None or band.rows % width or batch * width % band.rows:
        return None
    while band.lines > 2 and (height % band.lines or math.prod(band.grid(image)) < PROGRAMS):
        band = band._replace(lines=band.lines // 2)
    return None if height % band.lines else band
