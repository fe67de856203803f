"""Batch normalisation with the addition and the ReLU that follow it, in CUDA C++, compiled when it is first needed.

Images lie in memory as N rows of C channels. `moments` is [2, C]: mean and variance.
"""

from typing import Any

import torch
from torch import Tensor

from pencil.kernels import _nvrtc
from pencil.kernels._nvrtc import Constants

CHANNELS, THREADS, BLOCKS = 64, 512, 128
"""Channels and threads of a block, and about how many blocks there are: what ran fastest on an H200."""
NAMES = (("slab_moments", "slab_forward"), ("slab_sums", "slab_backward"))


def takes(x: Tensor) -> bool:
    """Say whether such images are normalised here."""
    several = x.dim() == 4 and x.numel() > x.shape[1]
    known = x.dtype == torch.bfloat16 and x.is_cuda and several and x.shape[1] % CHANNELS == 0
    return known and _nvrtc.available()


def constants(
    stage: int, *, backward: bool = False, relu: bool = False, add: bool = False, both: bool = False
) -> Constants:
    """Return what a kernel is compiled for."""
    flags = {"BACKWARD": backward, "RELU": relu, "ADD": add, "BOTH": both}
    return {"STAGE": stage, "THREADS": THREADS} | {name: int(flag) for name, flag in flags.items()}


def name_of(known: Constants) -> str:
    """Return the name of the kernel."""
    return NAMES[known["BACKWARD"]][known["STAGE"] - 1]


def cut(rows: int, channels: int) -> tuple[int, int]:
    """Return how many slabs there are and how many rows each has."""
    tall = -(-rows // max(BLOCKS * CHANNELS // channels, 1))
    return -(-rows // tall), tall


def _launch(known: Constants, device: int, grid: tuple[int, int], args: list[Any]) -> None:
    _nvrtc.launch("norm.cu", name_of(known), known, device, grid, THREADS, args)


def forward(
    x: Tensor, given: Tensor | None, added: Tensor | None, weight: Tensor, bias: Tensor,
    running_mean: Tensor, running_var: Tensor, batches: Tensor, momentum: float, eps: float, relu: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return BN(x) (+ added), perhaps activated, and the moments of x, unless given; keep the running statistics."""
    beside = x if added is None else added
    rows, channels = _extent(x, beside)
    slabs, tall = cut(rows, channels)
    out = torch.empty_like(x)
    moments, partial = _floats(x, 2, channels), _floats(x, slabs, 2, channels) if given is None else given
    grid, device, sizes = (slabs, channels // CHANNELS), x.device.index, [rows, channels, tall]
    if given is None:
        _launch(constants(1), device, grid, [x, partial, *sizes])
    running = [running_mean, running_var, batches]
    joined = slabs if given is None else 0
    args = [x, beside, out, partial, moments, weight, bias, *running, *sizes, joined, momentum, eps]
    _launch(constants(2, relu=relu, add=added is not None), device, grid, args)
    return out, moments


def backward(
    grad: Tensor, other: Tensor | None, y: Tensor | None, x: Tensor,
    moments: Tensor, weight: Tensor, bias: Tensor, eps: float, relu: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return ∂x, what the ReLU let through of grad (+ other), and [∂weight, ∂bias].

    y is needed where something was added before the ReLU. With one gradient and nothing added, nothing more than ∂x is
    written: what is let through then is empty.
    """
    add, both = y is not None, other is not None
    given = [grad, grad if other is None else other, x if y is None else y, x]
    rows, channels = _extent(*given)
    slabs, tall = cut(rows, channels)
    passed, partial = passed_like(x, add=add, both=both), _floats(x, slabs, 2, channels)
    args = [*given, moments, weight, bias, passed, partial, rows, channels, tall, eps]
    grid = slabs, channels // CHANNELS
    _launch(constants(1, backward=True, relu=relu, add=add, both=both), x.device.index, grid, args)
    written = add or both
    left = passed if written else grad
    out, sums = finish_backward(left, x, partial, moments, weight, bias, eps, relu=relu and not written)
    return out, passed, sums


def finish_backward(
    passed: Tensor, x: Tensor, partial: Tensor, moments: Tensor, weight: Tensor, bias: Tensor, eps: float,
    *, relu: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return ∂x and [∂weight, ∂bias], from what is let through, or would be by this ReLU, and its sums [slabs, 2, C].

    Those slabs may be others than the ones here.
    """
    rows, channels = _extent(x, passed)
    slabs, tall = cut(rows, channels)
    out, sums = torch.empty_like(x), _floats(x, 2, channels)
    args = [passed, x, partial, moments, weight, bias, out, sums, rows, channels, tall, len(partial), eps]
    _launch(constants(2, backward=True, relu=relu), x.device.index, (slabs, channels // CHANNELS), args)
    return out, sums


def passed_like(x: Tensor, *, add: bool, both: bool) -> Tensor:
    """Make room for what the ReLU let through, where that is written."""
    return torch.empty_like(x) if add or both else x.new_empty(0)


def _extent(x: Tensor, *others: Tensor) -> tuple[int, int]:
    # Another layout would be read as if it were this one.
    assert all(image.is_contiguous(memory_format=torch.channels_last) for image in (x, *others))
    assert all(image.shape == x.shape and image.dtype == x.dtype for image in others)
    return x.numel() // x.shape[1], x.shape[1]


def _floats(x: Tensor, *shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.float32, device=x.device)
