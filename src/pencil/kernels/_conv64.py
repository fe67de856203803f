"""The 3×3 convolution of 64 channels in CUDA C++ for Hopper, and its gradient towards the input."""

from typing import Any

import torch
from torch import Tensor

from pencil.kernels import _nvrtc
from pencil.kernels._nvrtc import Constants

CHANNELS, TILE, THREADS = 64, 256, 384
"""Of images; pixels that have sums of their own; of a program."""
WIDTHS = (16, 32, 64)
LEAST_ROWS = 2**16
"""Pixels of a batch. Near this the gain over cuDNN is small, below it none was measured (docs/decisions/0011)."""


def takes(x: Tensor, kernel: Tensor) -> bool:
    """Say whether such images are convolved here with such weights, by stride 1 and with a border of zeros."""
    known = x.dtype == torch.bfloat16 and x.is_cuda and x.dim() == 4 and x.shape[1] == CHANNELS
    if not known or kernel.shape != (CHANNELS, CHANNELS, 3, 3) or x.numel() < LEAST_ROWS * CHANNELS:
        return False
    return divides(x.shape[2], x.shape[3]) and _nvrtc.available(wgmma=True)


def divides(height: int, width: int) -> bool:
    """Say whether tiles of whole lines of one image cover such images."""
    return width in WIDTHS and not height % (TILE // width)


def constants(
    height: int, width: int, *, turned: bool = False, norm: bool = False, add: bool = False, both: bool = False
) -> Constants:
    """Return what the kernel is compiled for."""
    flags = {"TURNED": turned, "NORM": norm, "ADD": add, "BOTH": both}
    return {"HEIGHT": height, "WIDTH": width} | {name: int(flag) for name, flag in flags.items()}


def shared_bytes(width: int, *, norm: bool = False) -> int:
    """Return the shared memory that the kernel takes: pixels of two tiles, the weights, a result and barriers."""
    plane = ((TILE // width + 2) * (width // 8) * 10 + 1) * 16
    barriers = 11 * 8
    # Behind the barriers three numbers of each channel, from a multiple of 16 bytes on.
    return 2 * CHANNELS // 8 * plane + (9 * CHANNELS + TILE) * CHANNELS * 2 + barriers + norm * (8 + 3 * CHANNELS * 4)


def forward(x: Tensor, kernel: Tensor) -> tuple[Tensor, Tensor]:
    """Return the convolution of x, and of each tile of it the mean and the squared distances, [tiles, 2, C]."""
    out = torch.empty_like(x)
    partial = _floats(x, tiles_of(x), 2, CHANNELS)
    _convolve(x, kernel, out, partial, constants(*x.shape[2:]))
    return out, partial


def gradient(grad: Tensor, kernel: Tensor) -> Tensor:
    """Return the gradient of a convolution's input."""
    out = torch.empty_like(grad)
    _convolve(grad, kernel, out, None, constants(*grad.shape[2:], turned=True))
    return out


def norm_forward(
    x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor,
    running_mean: Tensor, running_var: Tensor, batches: Tensor, momentum: float, eps: float, kernel: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return relu(BN(x)), and `forward` of that; keep the running statistics."""
    active, out, partial = torch.empty_like(x), torch.empty_like(x), _floats(x, tiles_of(x), 2, CHANNELS)
    running = [running_mean, running_var, batches, momentum]
    known = constants(*x.shape[2:], norm=True)
    _convolve(x, kernel, out, partial, known, [x, x, active, moments, weight, bias, *running, eps])
    return active, out, partial


def norm_gradient(
    grad: Tensor, other: Tensor | None, y: Tensor | None, kernel: Tensor,
    x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor, eps: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Go on through the ReLU before the convolution, to the normalisation of x (`_norm_cuda.backward`).

    Return what the ReLU let through of the gradient of its result (+ other), and sums of it as `slab_sums` takes them.
    """
    out = torch.empty_like(grad)
    partial = _floats(x, 2 * programs(x), 2, CHANNELS)
    known = constants(*x.shape[2:], turned=True, norm=True, add=y is not None, both=other is not None)
    before = [x, x if other is None else other, x if y is None else y]
    assert all(_lies_right(image) and image.shape == grad.shape for image in before)
    unused = [moments, moments, moments, 0.0]
    _convolve(grad, kernel, out, partial, known, [*before, moments, weight, bias, *unused, eps])
    return out, partial


def tiles_of(image: Tensor) -> int:
    """Return how many tiles cover images."""
    return image.numel() // CHANNELS // TILE


def programs(image: Tensor) -> int:
    """Return how many programs share the tiles of images."""
    return min(tiles_of(image), _nvrtc.processors(image.device.index))


def _convolve(
    image: Tensor,
    kernel: Tensor,
    out: Tensor,
    partial: Tensor | None,
    known: Constants,
    before: list[Any] | None = None,
) -> None:
    # Another layout would be read as if it were this one.
    assert _lies_right(image) and _lies_right(kernel)
    unused = [image] * 9 + [0.0, 0.0]
    sums = out if partial is None else partial
    _launch(known, programs(image), image.device.index, [image, kernel, out, sums, len(image), *(before or unused)])


def _launch(known: Constants, grid: int, device: int, args: list[Any]) -> None:
    shared = shared_bytes(known["WIDTH"], norm=bool(known["NORM"]))
    _nvrtc.launch("conv64.cu", "conv64", known, device, (grid, 1), THREADS, args, shared=shared, wgmma=True)


def _lies_right(image: Tensor) -> bool:
    return image.is_contiguous(memory_format=torch.channels_last)


def _floats(x: Tensor, *shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.float32, device=x.device)
