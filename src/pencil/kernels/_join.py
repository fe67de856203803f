"""Joins the sums of slabs into those of the whole, always in the same order."""

import torch
import triton
import triton.language as tl
from torch import Tensor

CHANNELS = 4


@triton.jit
def _moments_kernel(partial, moments, N, SLABS, C, ROWS: tl.constexpr, PADDED: tl.constexpr, CHANNELS: tl.constexpr):
    channels, each = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS), tl.arange(0, PADDED)
    there = (each < SLABS)[:, None] & (channels < C)[None, :]
    first = partial + (each * 2)[:, None] * C + channels[None, :]
    means = tl.load(first, mask=there, other=0.0)
    spreads = tl.load(first + C, mask=there, other=0.0)
    counts = tl.where(each < SLABS, tl.minimum(N - each * ROWS, ROWS), 0).to(tl.float32)[:, None]
    mean = tl.sum(means * counts, 0) / N
    apart = tl.where(there, means - mean[None, :], 0.0)
    tl.store(moments + channels, mean, mask=channels < C)
    tl.store(moments + C + channels, tl.sum(spreads + counts * apart * apart, 0) / N, mask=channels < C)


@triton.jit
def _sums_kernel(partial, sums, SLABS, C, PADDED: tl.constexpr, CHANNELS: tl.constexpr):
    channels, each = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS), tl.arange(0, PADDED)
    there = (each < SLABS)[:, None] & (channels < C)[None, :]
    first = partial + (each * 2)[:, None] * C + channels[None, :]
    tl.store(sums + channels, tl.sum(tl.load(first, mask=there, other=0.0), 0), mask=channels < C)
    tl.store(sums + C + channels, tl.sum(tl.load(first + C, mask=there, other=0.0), 0), mask=channels < C)


def joined_moments(partial: Tensor, rows: int, tall: int) -> Tensor:
    """Make mean and variance [2, C] of slabs' means and squared distances [slabs, 2, C], each of `tall` rows."""
    slabs, _, channels = partial.shape
    moments = torch.empty(2, channels, dtype=torch.float32, device=partial.device)
    _moments_kernel[(triton.cdiv(channels, CHANNELS),)](
        partial, moments, rows, slabs, channels,
        ROWS=tall, PADDED=triton.next_power_of_2(slabs), CHANNELS=CHANNELS, num_warps=4,
    )  # fmt: skip
    return moments


def joined_sums(partial: Tensor) -> Tensor:
    """Add up the slabs of [slabs, 2, C]."""
    slabs, _, channels = partial.shape
    sums = torch.empty(2, channels, dtype=torch.float32, device=partial.device)
    _sums_kernel[(triton.cdiv(channels, CHANNELS),)](
        partial, sums, slabs, channels, PADDED=triton.next_power_of_2(slabs), CHANNELS=CHANNELS, num_warps=4
    )
    return sums
