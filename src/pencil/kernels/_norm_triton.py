"""GPU kernels of batch normalisation with ReLU.

Images lie in memory as N rows of C channels. Sums over rows are taken in slabs and joined in a fixed order, so that
the result is the same each time. `moments` is [2, C]: mean and variance.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pencil.kernels._join import joined_moments, joined_sums

SLABS = 256
"""Slabs per block of channels; more would make the joining long, fewer would leave the GPU idle."""


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
def _passed(grad, out, at, inside, away, scale, bias, HAS_ADDED: tl.constexpr):
    """The gradient where the ReLU let it through."""
    passed = tl.load(grad + at, mask=inside, other=0.0).to(tl.float32)
    lets = away * scale[None, :] + bias[None, :] > 0
    if HAS_ADDED:
        lets = tl.load(out + at, mask=inside, other=0.0) > 0
    return tl.where(lets, passed, 0.0)


@triton.jit
def _moments_kernel(x, partial, N, C, ROWS: tl.constexpr, CHANNELS: tl.constexpr):
    """Mean and sum of squared distances from it, of one slab."""
    channels, at, inside = _tile(N, C, ROWS, CHANNELS)
    slab, real = tl.program_id(0), channels < C
    values = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, 0) / tl.minimum(N - slab * ROWS, ROWS).to(tl.float32)
    away = tl.where(inside, values - mean[None, :], 0.0)
    tl.store(partial + (slab * 2) * C + channels, mean, mask=real)
    tl.store(partial + (slab * 2 + 1) * C + channels, tl.sum(away * away, 0), mask=real)


@triton.jit
def _apply_kernel(
    x, added, out, moments, weight, bias,
    N, C, eps,
    HAS_ADDED: tl.constexpr, ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """relu(scale·(x − mean) + bias (+ added))."""
    channels, at, inside = _tile(N, C, ROWS, CHANNELS)
    mean, scale, offset, _ = normal_of(moments, weight, bias, channels, C, eps)
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) - mean[None, :]
    value = value * scale[None, :] + offset[None, :]
    if HAS_ADDED:
        value += tl.load(added + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + at, tl.maximum(value, 0.0).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _sums_kernel(
    grad, x, out, moments, weight, bias, partial,
    N, C, eps,
    HAS_ADDED: tl.constexpr, ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Σ g·x̂ and Σ g over one slab, with g the gradient where the ReLU let it through."""
    channels, at, inside = _tile(N, C, ROWS, CHANNELS)
    slab, real = tl.program_id(0), channels < C
    mean, scale, offset, inverse = normal_of(moments, weight, bias, channels, C, eps)
    away = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) - mean[None, :]
    passed = _passed(grad, out, at, inside, away, scale, offset, HAS_ADDED)
    tl.store(partial + (slab * 2) * C + channels, tl.sum(passed * away, 0) * inverse, mask=real)
    tl.store(partial + (slab * 2 + 1) * C + channels, tl.sum(passed, 0), mask=real)


@triton.jit
def _backward_kernel(
    grad, skip, x, out, moments, weight, bias, sums, grad_x, grad_added,
    N, C, eps,
    HAS_ADDED: tl.constexpr, HAS_SKIP: tl.constexpr, ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """∂x = scale·(g − mean(g) − x̂·mean(g·x̂)) (+ the gradient that reaches x beside the normalisation)."""
    channels, at, inside = _tile(N, C, ROWS, CHANNELS)
    real = channels < C
    mean, scale, offset, inverse = normal_of(moments, weight, bias, channels, C, eps)
    product = tl.load(sums + channels, mask=real) * inverse / N
    plain = tl.load(sums + C + channels, mask=real) / N
    away = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) - mean[None, :]
    passed = _passed(grad, out, at, inside, away, scale, offset, HAS_ADDED)
    if HAS_ADDED:
        tl.store(grad_added + at, passed.to(grad_added.dtype.element_ty), mask=inside)
    result = scale[None, :] * (passed - plain[None, :] - away * product[None, :])
    if HAS_SKIP:
        result += tl.load(skip + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(grad_x + at, result.to(grad_x.dtype.element_ty), mask=inside)


def moments(x: Tensor) -> Tensor:
    """Return mean and variance of each channel."""
    rows, channels = _extent(x)
    tall, wide, grid = _slabs(rows, channels)
    partial = torch.empty(grid[0], 2, channels, dtype=torch.float32, device=x.device)
    _moments_kernel[grid](x, partial, rows, channels, ROWS=tall, CHANNELS=wide, num_warps=_warps(tall * wide))
    return joined_moments(partial, rows, tall)


def forward(x: Tensor, added: Tensor | None, moments: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Return relu(BN(x) (+ added))."""
    out, (rows, channels) = torch.empty_like(x), _extent(x)
    tall, wide, grid = _tiles(rows, channels)
    _apply_kernel[grid](
        x, x if added is None else added, out, moments, weight, bias, rows, channels, eps,
        HAS_ADDED=added is not None, ROWS=tall, CHANNELS=wide, num_warps=4,
    )  # fmt: skip
    return out


def sums(
    grad: Tensor, x: Tensor, out: Tensor | None, moments: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> Tensor:
    """Return [2, C]: ∂weight and ∂bias."""
    rows, channels = _extent(x)
    tall, wide, grid = _slabs(rows, channels)
    partial = torch.empty(grid[0], 2, channels, dtype=torch.float32, device=x.device)
    _sums_kernel[grid](
        grad, x, x if out is None else out, moments, weight, bias, partial, rows, channels, eps,
        HAS_ADDED=out is not None, ROWS=tall, CHANNELS=wide, num_warps=_warps(tall * wide),
    )  # fmt: skip
    return joined_sums(partial)


def backward(
    grad: Tensor,
    skip: Tensor | None,
    x: Tensor,
    out: Tensor | None,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    sums: Tensor,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """Return ∂x and ∂added (empty where nothing was added: `out` is None)."""
    rows, channels = _extent(x)
    grad_x = torch.empty_like(x)
    grad_added = torch.empty(0, dtype=x.dtype, device=x.device) if out is None else torch.empty_like(x)
    tall, wide, grid = _tiles(rows, channels)
    _backward_kernel[grid](
        grad, x if skip is None else skip, x, x if out is None else out, moments, weight, bias, sums,
        grad_x, grad_added, rows, channels, eps,
        HAS_ADDED=out is not None, HAS_SKIP=skip is not None, ROWS=tall, CHANNELS=wide, num_warps=4,
    )  # fmt: skip
    return grad_x, grad_added


def _extent(x: Tensor) -> tuple[int, int]:
    return x.numel() // x.shape[1], x.shape[1]


def _slabs(rows: int, channels: int) -> tuple[int, int, tuple[int, int]]:
    """Rows and channels of a slab, and the grid: slabs small enough for registers, enough of them for the GPU."""
    wide = min(triton.next_power_of_2(channels), 64)
    tall = max(triton.next_power_of_2(triton.cdiv(rows, SLABS)), 8192 // wide)
    return tall, wide, (triton.cdiv(rows, tall), triton.cdiv(channels, wide))


def _tiles(rows: int, channels: int) -> tuple[int, int, tuple[int, int]]:
    """Rows and channels of a tile, and the grid, for kernels that treat each value by itself."""
    wide = min(triton.next_power_of_2(channels), 64)
    tall = (4096 if rows * channels >= 2**21 else 2048) // wide
    return tall, wide, (triton.cdiv(rows, tall), triton.cdiv(channels, wide))


def _warps(elements: int) -> int:
    return max(4, min(16, elements // 2048))
