"""The largest numbers of many tensors, to find out whether all are finite; on a GPU in bfloat16 in one pass."""

import math
from typing import Any

import torch
from torch import Tensor

from pencil.kernels import _nvrtc
from pencil.kernels._nvrtc import Constants

TENSORS = 40
"""Of one launch."""
THREADS, AT_ONCE = 256, 8
CONSTANTS: Constants = {"THREADS": THREADS, "AT_ONCE": AT_ONCE}
EIGHT, PIECE = 8, 8 * THREADS * AT_ONCE
"""Numbers that are read together, and those of a block."""


def largest(tensors: list[Tensor]) -> Tensor:
    """Return some magnitudes, the largest of all tensors among them; NaN is among them where it is in a tensor.

    This is how to find what is not finite: torch's own check takes no bfloat16 on a GPU.
    """
    own: list[Tensor] = []
    others: dict[torch.dtype, list[Tensor]] = {}
    for tensor in tensors:
        # torch takes several at once only where they are of one type.
        (own if takes(tensor) else others.setdefault(tensor.dtype, [])).append(tensor)
    found = [_largest(own[first : first + TENSORS]) for first in range(0, len(own), TENSORS)]
    found += [torch.stack(torch._foreach_norm(alike, math.inf, torch.float32)) for alike in others.values()]
    return torch.cat(found)


def takes(tensor: Tensor) -> bool:
    """Say whether a tensor is read here: whole eights that lie together, in whatever order."""
    if tensor.dtype != torch.bfloat16 or not tensor.is_cuda or tensor.numel() % EIGHT or tensor.data_ptr() % 16:
        return False
    together = tensor.is_contiguous() or (tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last))
    return together and 0 < tensor.numel() < 2**31 and _nvrtc.available()


def _largest(tensors: list[Tensor]) -> Tensor:
    blocks = sum(-(-tensor.numel() // PIECE) for tensor in tensors)
    found = torch.zeros(1, dtype=torch.int32, device=tensors[0].device)
    none = TENSORS - len(tensors)
    eights = [tensor.numel() // EIGHT for tensor in tensors]
    _launch(found.device.index, blocks, [*tensors, *[tensors[0]] * none, *eights, *[0] * none, found])
    return found.view(torch.float32)


def _launch(device: int, blocks: int, args: list[Any]) -> None:
    _nvrtc.launch("largest.cu", "find_largest", CONSTANTS, device, (blocks, 1), THREADS, args)
