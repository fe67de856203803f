"""GPU kernels of a 3×3 convolution that also does what stands around it, while its result is still in registers.

Forward it adds the shortcut and takes the moments of what it wrote; backward, towards its input, it applies the ReLU
before it and takes the sums its normalisation needs. One kernel serves both: the gradient towards the input of a
convolution of stride 1 is a convolution with the weights turned round.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pencil.kernels._join import joined_moments, joined_sums
from pencil.kernels._norm_triton import normal_of

FORWARD, BACKWARD = 0, 1


@triton.jit
def _conv_kernel(
    image, kernel, out, partial, extra, moments, weight, bias,
    M, H, W, eps, step_in, step_out, first_tap, step_tap,
    HAS_EXTRA: tl.constexpr, DIRECTION: tl.constexpr,
    INSIDE: tl.constexpr, OUTSIDE: tl.constexpr, ROWS: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """M rows of INSIDE channels to M rows of OUTSIDE; `kernel` is read by the steps given."""
    slab = tl.program_id(0)
    row = slab * ROWS + tl.arange(0, ROWS)
    there = row < M
    column, line = row % W, (row // W) % H
    o, i = tl.arange(0, OUTSIDE), tl.arange(0, CHUNK)
    total = tl.zeros((ROWS, OUTSIDE), tl.float32)
    for tap in range(9):
        down, right = tap // 3 - 1, tap % 3 - 1
        seen = there & (line + down >= 0) & (line + down < H) & (column + right >= 0) & (column + right < W)
        at = image + (row + down * W + right) * INSIDE
        weights = kernel + first_tap + tap * step_tap
        for start in tl.static_range(0, INSIDE, CHUNK):
            pixels = tl.load(at[:, None] + start + i[None, :], mask=seen[:, None], other=0.0)
            values = tl.load(weights + (start + i)[:, None] * step_in + o[None, :] * step_out)
            total = tl.dot(pixels, values, total)
    place = row[:, None] * OUTSIDE + o[None, :]
    if DIRECTION == 0:
        if HAS_EXTRA:
            total += tl.load(extra + place, mask=there[:, None], other=0.0).to(tl.float32)
        rounded = total.to(out.dtype.element_ty)
        tl.store(out + place, rounded, mask=there[:, None])
        # Rows past the end are zero: no pixel was seen there.
        values = rounded.to(tl.float32)
        first = tl.sum(values, 0) / tl.minimum(M - slab * ROWS, ROWS).to(tl.float32)
        away = tl.where(there[:, None], values - first[None, :], 0.0)
        second = tl.sum(away * away, 0)
    else:
        mean, scale, offset, inverse = normal_of(moments, weight, bias, o, OUTSIDE, eps)
        away = tl.load(extra + place, mask=there[:, None], other=0.0).to(tl.float32) - mean[None, :]
        rounded = tl.where(away * scale[None, :] + offset[None, :] > 0, total, 0.0).to(out.dtype.element_ty)
        tl.store(out + place, rounded, mask=there[:, None])
        passed = tl.where(there[:, None], rounded.to(tl.float32), 0.0)
        first = tl.sum(passed * away, 0) * inverse
        second = tl.sum(passed, 0)
    tl.store(partial + (slab * 2) * OUTSIDE + o, first)
    tl.store(partial + (slab * 2 + 1) * OUTSIDE + o, second)


def _plan(outside: int) -> dict[str, int]:
    """Rows of a tile, and how it is worked: what ran fastest on an H200 at these widths."""
    if outside <= 32:
        return {"ROWS": 256, "num_stages": 2, "num_warps": 4}
    return {"ROWS": 128 if outside == 64 else 64, "num_stages": 4, "num_warps": 4}


def forward(active: Tensor, kernel: Tensor, added: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return conv(active) (+ added), and its moments; `kernel` is [O, C, 3, 3], channels last."""
    outside, inside = kernel.shape[:2]
    batch, _, height, width = active.shape
    out = _like(active, outside)
    rows, plan = batch * height * width, _plan(outside)
    slabs = triton.cdiv(rows, plan["ROWS"])
    partial = torch.empty(slabs, 2, outside, dtype=torch.float32, device=active.device)
    _conv_kernel[(slabs,)](
        active, kernel, out, partial, active if added is None else added, partial, partial, partial,
        rows, height, width, 0.0, 1, 9 * inside, 0, inside,
        HAS_EXTRA=added is not None, DIRECTION=FORWARD,
        INSIDE=inside, OUTSIDE=outside, CHUNK=min(inside, 64), **plan,
    )  # fmt: skip
    return out, joined_moments(partial, rows, plan["ROWS"])


def backward(
    grad: Tensor, kernel: Tensor, x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    """Return the gradient behind the ReLU that follows BN(x), and the sums its normalisation needs."""
    outside, inside = kernel.shape[:2]
    batch, _, height, width = x.shape
    out, rows, plan = torch.empty_like(x), batch * height * width, _plan(inside)
    slabs = triton.cdiv(rows, plan["ROWS"])
    partial = torch.empty(slabs, 2, inside, dtype=torch.float32, device=x.device)
    _conv_kernel[(slabs,)](
        grad, kernel, out, partial, x, moments, weight, bias,
        rows, height, width, eps, 9 * inside, 1, 8 * inside, -inside,
        HAS_EXTRA=True, DIRECTION=BACKWARD,
        INSIDE=outside, OUTSIDE=inside, CHUNK=min(outside, 64), **plan,
    )  # fmt: skip
    return out, joined_sums(partial)


def _like(image: Tensor, channels: int) -> Tensor:
    batch, _, height, width = image.shape
    shape = (batch, channels, height, width)
    return torch.empty(shape, dtype=image.dtype, device=image.device, memory_format=torch.channels_last)
