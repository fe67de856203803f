"""How the numbers of an image lie in memory: those of a pixel side by side, or each colour in a plane of its own.

The shape is the same, [B, C, H, W]. GPUs and x86 compute faster on pixels; a network that others get has planes.
"""

import copy
import platform

import torch
from torch import Tensor, nn

from pencil.backbones import is_built_in
from pencil.run.planning.plan import Plan
from pencil.run.training.machine import Machine, on_machine
from pencil.run.training.try_network import first_inputs

X86 = ("x86_64", "amd64")


def suits_pixels_together(backbone: str, kind: str, device: torch.device) -> bool:
    """Say whether a network of this name and such inputs is faster so, and known to manage."""
    return kind == "images" and _faster_together(device) and is_built_in(backbone)


def takes_pixels_together(plan: Plan, machine: Machine) -> bool:
    """Say whether the run's images may come so.

    Code that counts on a plane for each colour, as `view` does, fails on these, so others' networks are tried.
    """
    if plan.dataset.preparation.kind != "images" or not _faster_together(machine.device):
        return False
    return is_built_in(plan.settings.backbone) or _manages(plan, machine)


def with_pixels_together(network: nn.Module) -> nn.Module:
    """Lay a network's kernels out as images are whose numbers of a pixel lie side by side."""
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def with_planes(network: nn.Module) -> nn.Module:
    """Lay a network's kernels out in the usual way, which some programs that save them insist on."""
    return network.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload, no-any-return]


def _faster_together(device: torch.device) -> bool:
    """Say what was measured: CPUs that are no x86 were about twice as fast on planes."""
    return device.type == "cuda" or (device.type == "cpu" and platform.machine().lower() in X86)


def _manages(plan: Plan, machine: Machine) -> bool:
    try:
        # A copy: what makes networks may give one and the same each time.
        network = with_pixels_together(on_machine(copy.deepcopy(plan.new_network()), machine))
        images = first_inputs(plan, machine, pixels_together=True)
        with machine.precision.forward(machine.device):
            outputs: Tensor = network.train()(images)
        torch.autograd.backward(outputs.sum())
        with torch.no_grad(), machine.precision.forward(machine.device):
            network.eval()(images)
    except Exception:  # A user's code may fail in any way.
        return False
    return True
