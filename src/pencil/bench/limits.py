"""How fast a step could be at most: by the bytes it must move and the products it must compute, at measured speeds."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from pencil.bench.plain import synchronise

PASSES = 3
"""How often a convolution's input and its output move at least: normalisation needs sums over the whole batch, so
nothing stays in registers between two convolutions. Forward the input is read and the output written; backward both are
read again, as are the gradient of the output and that of the input, which is written."""
PARAMETER_MOVES = 6
"""A parameter's gradient is written and read, the parameter and its momentum are read and written."""


@dataclass(frozen=True)
class Work:
    """What one step must do."""

    flops: int
    bytes: int


@dataclass(frozen=True)
class Speeds:
    """What the device does in a second, measured."""

    flops: float
    bytes: float

    def limits(self, work: Work, batch_size: int) -> dict[str, float]:
        """Return the images per second that the work allows."""
        return {
            "limit by bytes moved": batch_size * self.bytes / work.bytes,
            "limit by FLOPs": batch_size * self.flops / work.flops,
        }


def count_work(network: nn.Module, batch: tuple[int, ...], activation: torch.dtype) -> Work:
    """Count a step of this network on a batch of this shape; nothing is computed."""
    network = network.to("meta").train()
    moved = 0

    def count(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal moved
        moved += PASSES * (inputs[0].numel() + output.numel()) * activation.itemsize

    hooks = [m.register_forward_hook(count) for m in network.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    with FlopCounterMode(display=False) as counter:
        network(torch.empty(batch, device="meta")).sum().backward()
    for hook in hooks:
        hook.remove()
    moved += PARAMETER_MOVES * sum(p.numel() * p.element_size() for p in network.parameters())
    return Work(int(counter.get_total_flops()), moved)


def measure_speeds(device: torch.device, dtype: torch.dtype) -> Speeds:
    """Copy a large block, counting what is read and written, and multiply large matrices in this type."""
    side, block = (8192, 2**30) if device.type == "cuda" else (768, 2**26)
    source = torch.ones(block, dtype=torch.uint8, device=device)
    copy = torch.empty_like(source)
    # Zeros would be faster than what a network computes.
    left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    product = torch.empty_like(left)
    seconds = _seconds(lambda: copy.copy_(source), device)
    return Speeds(2 * side**3 / _seconds(lambda: torch.mm(left, right, out=product), device), 2 * block / seconds)


def _seconds(work: Callable[[], Any], device: torch.device, repeats: int = 10) -> float:
    work()
    synchronise(device)
    best = math.inf
    for _ in range(3):
        started = time.perf_counter()
        for _ in range(repeats):
            work()
        synchronise(device)
        best = min(best, (time.perf_counter() - started) / repeats)
    return best
