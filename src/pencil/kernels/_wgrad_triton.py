"""GPU kernel of the gradient of a 3×3 convolution's weights.

A program reads each output gradient once for the three taps of a row of the kernel; splits of the rows are added up in
a fixed order.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

PLANS = {
    16: {"rows": 64, "programs": 396, "stages": 2},
    32: {"rows": 64, "programs": 396, "stages": 2},
    64: {"rows": 64, "programs": 198, "stages": 3},
}
"""Rows at a time, programs and stages by the wider side's channels: what ran fastest on an H200."""
MOST_ROWS = {16: 2**31, 32: 2**31, 64: 2**15}
"""Pixels of a batch; beyond, cuDNN is faster."""


@triton.jit
def _wgrad_kernel(
    active, grad, partial, M, H, W,
    INSIDE: tl.constexpr, OUTSIDE: tl.constexpr, ROWS: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """partial[split, o, tap, i] = Σ over this split's rows of grad[row, o] · active[row shifted by tap, i]."""
    split, down = tl.program_id(0), tl.program_id(1)
    o, i = tl.arange(0, OUTSIDE), tl.arange(0, INSIDE)
    left = tl.zeros((OUTSIDE, INSIDE), tl.float32)
    middle = tl.zeros((OUTSIDE, INSIDE), tl.float32)
    right = tl.zeros((OUTSIDE, INSIDE), tl.float32)
    for step in range(STEPS):
        row = (split * STEPS + step) * ROWS + tl.arange(0, ROWS)
        column, line = row % W, (row // W) % H + down - 1
        there = row < M
        seen = there & (line >= 0) & (line < H)
        at = active + (row + (down - 1) * W)[:, None] * INSIDE + i[None, :]
        gradient = tl.load(grad + row[:, None] * OUTSIDE + o[None, :], mask=there[:, None], other=0.0)
        turned = tl.trans(gradient)
        left = tl.dot(turned, tl.load(at - INSIDE, mask=(seen & (column > 0))[:, None], other=0.0), left)
        middle = tl.dot(turned, tl.load(at, mask=seen[:, None], other=0.0), middle)
        right = tl.dot(turned, tl.load(at + INSIDE, mask=(seen & (column + 1 < W))[:, None], other=0.0), right)
    out = partial + split * (OUTSIDE * 9 * INSIDE) + o[:, None] * (9 * INSIDE) + down * 3 * INSIDE + i[None, :]
    tl.store(out, left)
    tl.store(out + INSIDE, middle)
    tl.store(out + 2 * INSIDE, right)


@triton.jit
def _add_kernel(partial, out, TOTAL, SPLITS, PADDED: tl.constexpr, SIZE: tl.constexpr):
    at, split = tl.program_id(0) * SIZE + tl.arange(0, SIZE), tl.arange(0, PADDED)
    there = (split < SPLITS)[:, None] & (at < TOTAL)[None, :]
    values = tl.load(partial + split[:, None] * TOTAL + at[None, :], mask=there, other=0.0)
    tl.store(out + at, tl.sum(values, 0), mask=at < TOTAL)


def sums(active: Tensor, grad: Tensor) -> bool:
    """Say whether these sizes are taken here."""
    return active.numel() // active.shape[1] <= MOST_ROWS.get(max(active.shape[1], grad.shape[1]), 0)


def weight_gradient(grad: Tensor, active: Tensor, dtype: torch.dtype) -> Tensor:
    """Return ∂kernel [O, C, 3, 3], channels last, of a convolution of stride 1."""
    batch, inside, height, width = active.shape
    outside, total = grad.shape[1], batch * height * width
    plan = PLANS[max(inside, outside)]
    rows = plan["rows"]
    steps = triton.cdiv(triton.cdiv(total, rows), plan["programs"] // 3)
    splits = triton.cdiv(total, rows * steps)
    partial = torch.empty(splits, outside * 9 * inside, dtype=torch.float32, device=grad.device)
    _wgrad_kernel[(splits, 3)](
        active, grad, partial, total, height, width,
        INSIDE=inside, OUTSIDE=outside, ROWS=rows, STEPS=steps,
        num_warps=4, num_stages=plan["stages"],
    )  # fmt: skip
    return add_up(partial, outside, inside, dtype)


def add_up(partial: Tensor, outside: int, inside: int, dtype: torch.dtype) -> Tensor:
    """Add the splits [splits, O·9·C] to one gradient [O, C, 3, 3], channels last."""
    splits, size = partial.shape
    shape = (outside, inside, 3, 3)
    out = torch.empty(shape, dtype=dtype, device=partial.device, memory_format=torch.channels_last)
    _add_kernel[(triton.cdiv(size, 64),)](
        partial, out, size, splits, PADDED=triton.next_power_of_2(splits), SIZE=64, num_warps=4
    )
    return out
