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


def constants(height: int, width: int, *, turned: bool = False) -> Constants:
    """Return what the kernel is compiled for."""
    return {"HEIGHT": height, "WIDTH": width, "TURNED": int(turned)}


def shared_bytes(width: int) -> int:
    """Return the shared memory that the kernel takes: pixels of two tiles, the weights, a result and barriers."""
    plane = ((TILE // width + 2) * (width // 8) * 10 + 1) * 16
    return 2 * CHANNELS // 8 * plane + (9 * CHANNELS + TILE) * CHANNELS * 2 + 11 * 8


def forward(x: Tensor, kernel: Tensor) -> tuple[Tensor, Tensor]:
    """Return the convolution of x, and of each tile of it the mean and the squared distances, [tiles, 2, C]."""
    out = torch.empty_like(x)
    partial = torch.empty(x.numel() // CHANNELS // TILE, 2, CHANNELS, dtype=torch.float32, device=x.device)
    _convolve(x, kernel, out, partial, turned=False)
    return out, partial


def gradient(grad: Tensor, kernel: Tensor) -> Tensor:
    """Return the gradient of a convolution's input."""
    out = torch.empty_like(grad)
    _convolve(grad, kernel, out, out, turned=True)  # It takes no sums.
    return out


def _convolve(image: Tensor, kernel: Tensor, out: Tensor, partial: Tensor, *, turned: bool) -> None:
    # Another layout would be read as if it were this one.
    assert all(given.is_contiguous(memory_format=torch.channels_last) for given in (image, kernel))
    batch, _, height, width = image.shape
    tiles = batch * height * width // TILE
    _launch(constants(height, width, turned=turned), image.device.index, tiles, [image, kernel, out, partial, batch])


def _launch(known: Constants, device: int, tiles: int, args: list[Any]) -> None:
    grid, shared = (min(tiles, _nvrtc.processors(device)), 1), shared_bytes(known["WIDTH"])
    _nvrtc.launch("conv64.cu", "conv64", known, device, grid, THREADS, args, shared=shared, wgmma=True)
