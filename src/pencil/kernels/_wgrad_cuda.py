"""The gradient of a 3×3 convolution's weights in CUDA C++ for Hopper."""

from typing import Any

import torch
from torch import Tensor

from pencil.kernels import _nvrtc
from pencil.kernels._conv64 import TILE, divides
from pencil.kernels._nvrtc import Constants

SLICE, THREADS = 64, 512
"""Channels of either side that a program takes, and its threads."""
JOIN_THREADS, JOINED = 256, 32 * 4
"""Threads of a program that adds up, and how many weights it has."""
MOST_SHARED = 232_448
CHANNELS = (64, 128)
LEAST_ROWS = 2**15
"""Pixels of a batch."""


def takes(x: Tensor, kernel: Tensor) -> bool:
    """Say whether the gradient of such weights is taken here, for stride 1 and a border of zeros."""
    known = x.dtype == torch.bfloat16 and x.is_cuda and x.dim() == 4 and x.shape[1] in CHANNELS
    if not known or kernel.shape != (x.shape[1], x.shape[1], 3, 3) or x.numel() < LEAST_ROWS * x.shape[1]:
        return False
    return divides(x.shape[2], x.shape[3]) and _nvrtc.available(wgmma=True)


def constants(channels: int, height: int, width: int, dtype: torch.dtype) -> Constants:
    """Return what the kernels are compiled for."""
    return {"CHANNELS": channels, "HEIGHT": height, "WIDTH": width, "LOW": int(dtype == torch.bfloat16)}


def shared_bytes(width: int) -> int:
    """Return the shared memory that a program takes: the pixels of tiles and around them, and barriers."""
    around = ((TILE // width + 2) * (width + 2) + 6) // 8 * 8 + 1
    place = (SLICE // 8 * around + TILE * SLICE // 8) * 16
    places = 3 if 3 * place + 64 <= MOST_SHARED else 2
    return places * (place + 2 * 8)


def weight_gradient(grad: Tensor, x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return [O, C, 3, 3] in this type, channels last, summed in 32 bits and always in the same order."""
    # Another layout would be read as if it were this one.
    assert all(given.is_contiguous(memory_format=torch.channels_last) for given in (grad, x))
    batch, channels, height, width = x.shape
    blocks = (channels // SLICE) ** 2
    programs = min(batch * height * width // TILE, max(_nvrtc.processors(x.device.index) // blocks, 1))
    partial = torch.empty(programs, channels, 9, channels, dtype=torch.float32, device=x.device)
    found = torch.empty(channels, 3, 3, channels, dtype=dtype, device=x.device)
    known = constants(channels, height, width, dtype)
    _launch("weight_sums", known, x.device.index, (programs, blocks), [x, grad, partial, batch])
    _launch("join_sums", known, x.device.index, (found.numel() // JOINED, 1), [partial, found, programs])
    return found.permute(0, 3, 1, 2)


def _launch(name: str, known: Constants, device: int, grid: tuple[int, int], args: list[Any]) -> None:
    sums = name == "weight_sums"
    threads, shared = (THREADS, shared_bytes(known["WIDTH"])) if sums else (JOIN_THREADS, JOIN_THREADS * 16)
    _nvrtc.launch("wgrad.cu", name, known, device, grid, threads, args, shared=shared, wgmma=True)
