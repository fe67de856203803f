"""The convolution that sees an image first in CUDA C++, and the gradient of its weights."""

from typing import Any

import torch
from torch import Tensor

from pencil.kernels import _nvrtc
from pencil.kernels._conv64 import TILE, divides
from pencil.kernels._nvrtc import Constants

CHANNELS, HELD = 64, 4
"""Of the result; of the image, with zeros for those that it lacks."""
THREADS, AT_ONCE = 256, 2
"""Of a program; programs that a processor runs at once."""
JOIN_THREADS, JOINED = 256, 8
"""Threads of a program that adds up, and of how many pairs of channel and tap."""
PARTS = 4
"""Of a program's warps, whose sums are added up when it ends, or whose moments are joined for each tile."""
LEAST_ROWS = 2**15
"""Pixels of a batch; fewer were not tried."""


def takes(x: Tensor, kernel: Tensor) -> bool:
    """Say whether such images are convolved here with such weights, by stride 1 and with a border of zeros."""
    known = x.dtype in (torch.float32, torch.bfloat16) and x.is_cuda and x.dim() == 4 and 1 <= x.shape[1] <= HELD
    if not known or kernel.shape != (CHANNELS, x.shape[1], 3, 3) or x.numel() < LEAST_ROWS * x.shape[1]:
        return False
    return divides(x.shape[2], x.shape[3]) and _nvrtc.available()


def constants(channels: int, height: int, width: int, dtype: torch.dtype) -> Constants:
    """Return what the kernels are compiled for."""
    return {"HEIGHT": height, "WIDTH": width, "INSIDE": channels, "LOW": int(dtype == torch.bfloat16)}


def shared_bytes(name: str, width: int) -> int:
    """Return the shared memory that a program of a kernel takes.

    Forward: lines of two tiles, the weights, and room for moments; sums: two tiles of the gradient instead of these.
    """
    lines = 2 * (TILE // width + 2) * (width + 8) * HELD * 2
    if name == "stem_forward":
        return lines + CHANNELS * 9 * HELD * 2 + PARTS * 2 * CHANNELS * 4
    return lines + 2 * TILE * CHANNELS * 2 if name == "stem_sums" else JOIN_THREADS // 32 * JOINED * 16


def forward(x: Tensor, kernel: Tensor) -> tuple[Tensor, Tensor]:
    """Return the convolution of x, and of each tile of it the mean and the squared distances, [tiles, 2, C].

    The image has four channels; those beyond the kernel's, [64, C, 3, 3], are not looked at.
    """
    # Another layout would be read as if it were this one.
    assert x.shape[1] == HELD and all(given.is_contiguous(memory_format=torch.channels_last) for given in (x, kernel))
    batch, _, height, width = x.shape
    tiles = batch * height * width // TILE
    out = torch.empty(batch, height, width, CHANNELS, dtype=x.dtype, device=x.device).permute(0, 3, 1, 2)
    partial = torch.empty(tiles, 2, CHANNELS, dtype=torch.float32, device=x.device)
    known = constants(kernel.shape[1], height, width, torch.bfloat16)
    _launch("stem_forward", known, x.device.index, _programs(tiles, x), [x, kernel, out, partial, batch])
    return out, partial


def weight_gradient(grad: Tensor, x: Tensor, channels: int, dtype: torch.dtype) -> Tensor:
    """Return [64, C, 3, 3] for so many channels, channels last, summed in 32 bits and always in the same order."""
    assert x.shape[1] == HELD and all(given.is_contiguous(memory_format=torch.channels_last) for given in (grad, x))
    batch, _, height, width = x.shape
    programs = _programs(batch * height * width // TILE, x)
    partial = torch.empty(programs, CHANNELS, 9, HELD, dtype=torch.float32, device=x.device)
    found = torch.empty(CHANNELS, 3, 3, channels, dtype=dtype, device=x.device)
    known = constants(channels, height, width, dtype)
    _launch("stem_sums", known, x.device.index, programs, [x, grad, partial, batch])
    _launch("stem_join", known, x.device.index, CHANNELS * 9 // JOINED, [partial, found, programs])
    return found.permute(0, 3, 1, 2)


def _programs(tiles: int, x: Tensor) -> int:
    return min(tiles, AT_ONCE * _nvrtc.processors(x.device.index))


def _launch(name: str, known: Constants, device: int, programs: int, args: list[Any]) -> None:
    threads, shared = JOIN_THREADS if name == "stem_join" else THREADS, shared_bytes(name, known["WIDTH"])
    _nvrtc.launch("stem.cu", name, known, device, (programs, 1), threads, args, shared=shared)
