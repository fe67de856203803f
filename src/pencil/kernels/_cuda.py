"""Convolutions of few channels in CUDA C++, compiled for the sizes at hand when they are first needed.

They do what `_conv_triton` does, and the normalisation before the convolution besides.
"""

from typing import Any

import torch
from torch import Tensor

from pencil.kernels import _nvrtc
from pencil.kernels._join import joined_moments, joined_sums
from pencil.kernels._nvrtc import Constants as Sizes

CHANNELS = 32
"""With more, Triton's convolution was as fast on an H200 (docs/decisions/0011)."""
WIDTHS = (8, 16, 32, 64)
ROWS, TILES, RING = 512, 4, 4
"""Rows of a program, tiles of 16 rows of a warp, taps of weights in flight plus one: what ran fastest on an H200."""


def convolves(image: Tensor, kernel: Tensor) -> bool:
    """Say whether a convolution of this image with these weights, either way round, is taken here."""
    height, width = image.shape[2:]
    known = set(kernel.shape[:2]) == {CHANNELS} and image.dtype == torch.bfloat16 and image.is_cuda
    return known and divides(height, width) and _nvrtc.available()


def divides(height: int, width: int) -> bool:
    """Say whether programs of whole lines, or of whole images, cover such images."""
    sizes = conv_sizes(height, width)
    rows = sizes["IMAGES"] * sizes["LINES"] * width
    return width in WIDTHS and rows == ROWS and not height % sizes["LINES"]


def conv_sizes(height: int, width: int, *, turned: bool = False, norm: bool = False, extra: bool = False) -> Sizes:
    """Return how a convolution is cut up: some lines of one image to a program, or images taken whole."""
    lines = max(ROWS // width, 1)
    return {
        "INSIDE": CHANNELS, "OUTSIDE": CHANNELS, "PART": CHANNELS, "HEIGHT": height, "WIDTH": width,
        "IMAGES": max(lines // height, 1), "LINES": min(lines, height),
        "WARPS_M": ROWS // (16 * TILES), "WARPS_N": 1, "MT": TILES, "NT": CHANNELS // 8, "RING": RING,
        "TURNED": int(turned), "NORM": int(norm), "EXTRA": int(extra),
    }  # fmt: skip


def conv_shared(sizes: Sizes) -> int:
    """Return the bytes of shared memory that a convolution takes."""
    turned, inside, part = sizes["TURNED"], sizes["INSIDE"], sizes["PART"]
    image = sizes["IMAGES"] * (sizes["LINES"] + 2) * (sizes["WIDTH"] + 2) * (inside * 2 + 16)
    tap = inside * (part * 2 + 16) if turned else part * (inside * 2 + 16)
    result = sizes["IMAGES"] * sizes["LINES"] * sizes["WIDTH"] * (part + 4) * 4
    return max(image + sizes["RING"] * tap, result)


def _convolve(
    sizes: Sizes, image: Tensor, kernel: Tensor, out: Tensor, others: list[Any], floats: list[float]
) -> Tensor:
    """Launch it; return the sums of its programs."""
    programs = -(-(image.numel() // image.shape[1]) // ROWS)
    partial = torch.empty(programs, 2, sizes["OUTSIDE"], dtype=torch.float32, device=image.device)
    grid, threads = (programs, sizes["OUTSIDE"] // sizes["PART"]), sizes["WARPS_M"] * sizes["WARPS_N"] * 32
    args = [image, kernel, out, partial, *others, image.shape[0], *floats]
    device, shared = image.device.index, conv_shared(sizes)
    _nvrtc.launch("conv3x3.cu", "conv3x3", sizes, device, grid, threads, args, shared=shared)
    return partial


def forward(
    x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor, kernel: Tensor, added: Tensor | None,
    running_mean: Tensor, running_var: Tensor, batches: Tensor, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return relu(BN(x)), its convolution (+ added) and the moments of that; keep the running statistics."""
    active, out = torch.empty_like(x), torch.empty_like(x)
    others = [x if added is None else added, moments, weight, bias, active, running_mean, running_var, batches]
    sizes = conv_sizes(x.shape[2], x.shape[3], norm=True, extra=added is not None)
    partial = _convolve(sizes, x, kernel, out, others, [momentum, eps])
    return active, out, joined_moments(partial, x.numel() // CHANNELS, ROWS)


def backward(
    grad: Tensor, kernel: Tensor, x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    """Return the gradient behind the ReLU that follows BN(x), and the sums its normalisation needs."""
    out = torch.empty_like(x)
    others = [x, moments, weight, bias, out, moments, moments, moments]
    sizes = conv_sizes(x.shape[2], x.shape[3], turned=True, extra=True)
    partial = _convolve(sizes, grad, kernel, out, others, [0.0, eps])
    return out, joined_sums(partial)
