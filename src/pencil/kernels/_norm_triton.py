"""GPU kernels of batch normalisation with ReLU.

Images lie in memory as N rows of C channels. Sums over rows are taken in slabs and joined in a fixed order, so that
the result is the same each time. `moments` is [2, C]: mean and variance.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from pencil.kernels._join import joined_moments, joined_sums

PROGRAMS = 512
"""Programs that sum; more would make the joining long, fewer would leave the GPU idle."""
TILE = 4096
"""Values that a program sums at a time: 32 for each of its threads."""


@triton.jit
def _tile(N, C, ROWS: tl.constexpr, CHANNELS: tl.constexpr):
    """This program's channels, the places of its values in memory, and which of those are real."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    channels = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    return channels, rows[:, None] * C + channels[None, :], (rows < N)[:, None] & (channels < C)[None, :]


@triton.jit
def normal_of(moments, weight, bias, channels, C, eps):
    """Mean, scale, bias and 1/σ of these channels."""
    real = channels < C
    inverse = 1.0 / tl.sqrt(tl.load(moments + C + channels, mask=real, other=1.0) + eps)
    scale = tl.load(weight + channels, mask=real, other=0.0) * inverse
    return tl.load(moments + channels, mask=real, other=0.0), scale, tl.load(bias + channels, mask=real), inverse


@triton.jit
def _passed(grad, at, inside, away, scale, bias):
    """The gradient where the ReLU let it through."""
    passed = tl.load(grad + at, mask=inside, other=0.0).to(tl.float32)
    return tl.where(away * scale[None, :] + bias[None, :] > 0, passed, 0.0)


@triton.jit
def _moments_kernel(x, partial, N, C, ROWS: tl.constexpr, CHANNELS: tl.constexpr, STEPS: tl.constexpr):
    """Mean and sum of squared distances from it, of one slab of STEPS tiles."""
    slab, channels = tl.program_id(0), tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    rows, real = slab * (ROWS * STEPS) + tl.arange(0, ROWS), channels < C
    # Each place of the tile keeps its own moments over the steps; the places are joined once, at the end.
    mean = tl.zeros((ROWS, CHANNELS), tl.float32)
    spread = tl.zeros((ROWS, CHANNELS), tl.float32)
    for step in range(STEPS):
        row = rows + step * ROWS
        inside = (row < N)[:, None] & real[None, :]
        value = tl.load(x + row[:, None] * C + channels[None, :], mask=inside, other=0.0).to(tl.float32)
        away = tl.where(inside, value - mean, 0.0)
        mean += away * (1.0 / (step + 1))
        spread += tl.where(inside, away * (value - mean), 0.0)
    count = tl.minimum(tl.maximum((N - rows + ROWS - 1) // ROWS, 0), STEPS).to(tl.float32)[:, None]
    whole = tl.sum(mean * count, 0) / tl.minimum(N - slab * (ROWS * STEPS), ROWS * STEPS).to(tl.float32)
    apart = mean - whole[None, :]
    tl.store(partial + (slab * 2) * C + channels, whole, mask=real)
    tl.store(partial + (slab * 2 + 1) * C + channels, tl.sum(spread + count * apart * apart, 0), mask=real)


@triton.jit
def _track(running_mean, running_var, moments, channels, N, C, momentum):
    """Bring the running statistics of these channels up to date; the running variance is the unbiased one."""
    real = channels < C
    mean = tl.load(running_mean + channels, mask=real, other=0.0)
    variance = tl.load(running_var + channels, mask=real, other=0.0)
    fresh = tl.load(moments + C + channels, mask=real, other=0.0) * (N / tl.maximum(N - 1, 1))
    mean += momentum * (tl.load(moments + channels, mask=real, other=0.0) - mean)
    tl.store(running_mean + channels, mean, mask=real)
    tl.store(running_var + channels, variance + momentum * (fresh - variance), mask=real)


@triton.jit
def _apply_kernel(
    x, out, moments, weight, bias, running_mean, running_var, batches,
    N, C, momentum, eps,
    ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """relu(scale·(x − mean) + bias); the first programs also keep the running statistics."""
    channels, at, inside = _tile(N, C, ROWS, CHANNELS)
    if tl.program_id(0) == 0:
        _track(running_mean, running_var, moments, channels, N, C, momentum)
        if tl.program_id(1) == 0:
            tl.store(batches, tl.load(batches) + 1)
    mean, scale, offset, _ = normal_of(moments, weight, bias, channels, C, eps)
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) - mean[None, :]
    value = value * scale[None, :] + offset[None, :]
    tl.store(out + at, tl.maximum(value, 0.0).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _sums_kernel(
    grad, x, moments, weight, bias, partial,
    N, C, eps,
    ROWS: tl.constexpr, CHANNELS: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Σ g·x̂ and Σ g over one slab of STEPS tiles, with g the gradient where the ReLU let it through."""
    slab, channels = tl.program_id(0), tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    rows, real = slab * (ROWS * STEPS) + tl.arange(0, ROWS), channels < C
    mean, scale, offset, inverse = normal_of(moments, weight, bias, channels, C, eps)
    product = tl.zeros((ROWS, CHANNELS), tl.float32)
    plain = tl.zeros((ROWS, CHANNELS), tl.float32)
    for step in range(STEPS):
        row = rows + step * ROWS
        at, inside = row[:, None] * C + channels[None, :], (row < N)[:, None] & real[None, :]
        away = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) - mean[None, :]
        passed = _passed(grad, at, inside, away, scale, offset)
        product += passed * away
        plain += passed
    tl.store(partial + (slab * 2) * C + channels, tl.sum(product, 0) * inverse, mask=real)
    tl.store(partial + (slab * 2 + 1) * C + channels, tl.sum(plain, 0), mask=real)


@triton.jit
def _backward_kernel(
    grad, skip, x, moments, weight, bias, sums, grad_x,
    N, C, eps,
    HAS_SKIP: tl.constexpr, ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """∂x = scale·(g − mean(g) − x̂·mean(g·x̂)) (+ the gradient that reaches x beside the normalisation)."""
    channels, at, inside = _tile(N, C, ROWS, CHANNELS)
    real = channels < C
    mean, scale, offset, inverse = normal_of(moments, weight, bias, channels, C, eps)
    product = tl.load(sums + channels, mask=real) * inverse / N
    plain = tl.load(sums + C + channels, mask=real) / N
    away = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) - mean[None, :]
    passed = _passed(grad, at, inside, away, scale, offset)
    result = scale[None, :] * (passed - plain[None, :] - away * product[None, :])
    if HAS_SKIP:
        result += tl.load(skip + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(grad_x + at, result.to(grad_x.dtype.element_ty), mask=inside)


def moments(x: Tensor) -> Tensor:
    """Return mean and variance of each channel."""
    rows, channels = _extent(x)
    slab = _slabs(rows, channels)
    partial = torch.empty(slab.grid[0], 2, channels, dtype=torch.float32, device=x.device)
    _moments_kernel[slab.grid](
        x, partial, rows, channels, ROWS=slab.rows, CHANNELS=slab.channels, STEPS=slab.steps, num_warps=4
    )
    return joined_moments(partial, rows, slab.rows * slab.steps)


def forward(
    x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor,
    running_mean: Tensor, running_var: Tensor, batches: Tensor, momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    """Return relu(BN(x)); change the running statistics and the count of batches."""
    out, (rows, channels) = torch.empty_like(x), _extent(x)
    tall, wide, grid = _tiles(rows, channels)
    _apply_kernel[grid](
        x, out, moments, weight, bias, running_mean, running_var, batches,
        rows, channels, momentum, eps,
        ROWS=tall, CHANNELS=wide, num_warps=4,
    )  # fmt: skip
    return out


def sums(grad: Tensor, x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Return [2, C]: ∂weight and ∂bias."""
    rows, channels = _extent(x)
    slab = _slabs(rows, channels)
    partial = torch.empty(slab.grid[0], 2, channels, dtype=torch.float32, device=x.device)
    _sums_kernel[slab.grid](
        grad, x, moments, weight, bias, partial, rows, channels, eps,
        ROWS=slab.rows, CHANNELS=slab.channels, STEPS=slab.steps, num_warps=4,
    )  # fmt: skip
    return joined_sums(partial)


def backward(
    grad: Tensor,
    skip: Tensor | None,
    x: Tensor,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    sums: Tensor,
    eps: float,
) -> Tensor:
    """Return ∂x, with `skip` added."""
    rows, channels = _extent(x)
    grad_x = torch.empty_like(x)
    tall, wide, grid = _tiles(rows, channels)
    _backward_kernel[grid](
        grad, x if skip is None else skip, x, moments, weight, bias, sums,
        grad_x, rows, channels, eps,
        HAS_SKIP=skip is not None, ROWS=tall, CHANNELS=wide, num_warps=4,
    )  # fmt: skip
    return grad_x


def _extent(x: Tensor) -> tuple[int, int]:
    return x.numel() // x.shape[1], x.shape[1]


class _Slab(NamedTuple):
    """What one program sums up: `steps` tiles of rows × channels."""

    rows: int
    channels: int
    steps: int
    grid: tuple[int, int]


def _slabs(rows: int, channels: int) -> _Slab:
    """Tiles small enough for registers, and as many steps as leave enough programs for the GPU."""
    wide = min(triton.next_power_of_2(channels), 64)
    tall = TILE // wide
    blocks = triton.cdiv(channels, wide)
    steps = triton.next_power_of_2(triton.cdiv(rows * blocks, PROGRAMS * tall))
    return _Slab(tall, wide, steps, (triton.cdiv(rows, tall * steps), blocks))


def _tiles(rows: int, channels: int) -> tuple[int, int, tuple[int, int]]:
    """Rows and channels of a tile, and the grid, for kernels that treat each value by itself."""
    wide = min(triton.next_power_of_2(channels), 64)
    tall = (4096 if rows * channels >= 2**21 else 2048) // wide
    return tall, wide, (triton.cdiv(rows, tall), triton.cdiv(channels, wide))
