"""Where a run computes, and how a network comes there."""

from dataclasses import dataclass

import torch
from torch import nn

from pencil.allowance import memory
from pencil.config import HardwareSettings
from pencil.runtime import (
    ALONE,
    Precision,
    Processes,
    choose_device,
    choose_precision,
    join_processes,
    use_threads,
)


@dataclass(frozen=True)
class Machine:
    """Where a run computes."""

    device: torch.device
    precision: Precision
    threads: int
    processes: Processes = ALONE


def choose_machine(hardware: HardwareSettings) -> Machine:
    """Set up device, precision and threads, and join the other processes of this run."""
    processes, device = join_processes(lambda: choose_device(hardware.device))
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True
    return Machine(device, choose_precision(hardware.precision, device), use_threads(hardware.threads), processes)


def on_machine(network: nn.Module, machine: Machine) -> nn.Module:
    """Bring a network to the device and its numbers to the precision."""
    return brought(network, machine.device, machine.precision.dtype)


def brought(network: nn.Module, device: torch.device, dtype: torch.dtype) -> nn.Module:
    """Bring a network to a device and its numbers to a type; torch would make complex ones real with them.

    A tensor that repeats one number without holding it so often cannot be written, and becomes one that can.
    """

    def bring(tensor: torch.Tensor) -> torch.Tensor:
        there = tensor.to(device, dtype if tensor.is_floating_point() else tensor.dtype)
        repeats = any(not step and size > 1 for step, size in zip(there.stride(), there.shape, strict=True))
        return there.contiguous() if repeats else there

    network._apply(bring)  # type: ignore[no-untyped-call]
    return network


def free_memory(device: torch.device) -> int:
    """Return how many bytes there still are on a device."""
    return int(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else memory()
