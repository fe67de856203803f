"""Weights in 16 bits for the passes through a network, beside those in 32 bits that learn.

Where a GPU computes in bfloat16, every step otherwise turns all weights to it, and all their gradients back.
"""

import copy
from typing import NamedTuple

import torch
from torch import Tensor, nn

from pencil.kernels import Stem
from pencil.runtime import Precision

LEAST = 4_000_000
"""Numbers in such weights; of fewer, turning and updating them takes too little time for any to be gained."""
DEVICES = ("cuda",)
KNOWN = (nn.Conv2d.forward, nn.Linear.forward, Stem.forward)
"""What computes in 16 bits alone; another layer might do something in 32 bits with its weights first."""


class Moving(NamedTuple):
    """Tensors that one update changes together, and what it reads, one of each kind for a parameter."""

    weights: list[Tensor]
    gradients: list[Tensor]
    momenta: list[Tensor]
    """Empty where there is no momentum."""
    copies: list[Tensor]
    """The weights in 16 bits; empty for parameters that have no such copy."""


class LowWeights:
    """A network that shares all with another one but the weights of convolutions and linear layers.

    Of those it has its own, in 16 bits. Whoever changes the other network's weights must refresh them.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
        self.copies = {weight: nn.Parameter(weight.detach().to(torch.bfloat16)) for weight in _weights(model)}
        memo = shared | {id(weight): low for weight, low in self.copies.items()}
        self.network = copy.deepcopy(model, memo)
        self.refresh()

    @torch.no_grad()
    def refresh(self) -> None:
        """Take over the other network's weights, and which of its parts train."""
        torch._foreach_copy_(list(self.copies.values()), list(self.copies))
        for weight, low in self.copies.items():
            low.requires_grad_(weight.requires_grad)
        for mine, theirs in zip(self.network.modules(), self.model.modules(), strict=True):
            mine.training = theirs.training

    def forget_gradients(self) -> None:
        """Let go of the gradients of what it has of its own."""
        for low in self.copies.values():
            low.grad = None

    def moving(self, optimizer: torch.optim.Optimizer) -> list[Moving]:
        """Return what is to be updated: weights with a copy, and the other parameters."""
        with_copy, other = Moving([], [], [], []), Moving([], [], [], [])
        for parameter in optimizer.param_groups[0]["params"]:
            low = self.copies.get(parameter)
            gradient = parameter.grad if low is None else low.grad
            if gradient is None:
                continue
            moving = other if low is None else with_copy
            moving.weights.append(parameter.detach())
            moving.gradients.append(gradient)
            if optimizer.param_groups[0]["momentum"]:
                moving.momenta.append(optimizer.state[parameter]["momentum_buffer"])
            if low is not None:
                moving.copies.append(low.detach())
        return [moving for moving in (with_copy, other) if moving.weights]


def lowered(model: nn.Module, precision: Precision, device: torch.device) -> LowWeights | None:
    """Return weights in 16 bits, if the passes compute in bfloat16 and something is gained."""
    halves = precision.dtype == torch.float32 and precision.forward_dtype == torch.bfloat16
    if device.type not in DEVICES or not halves or sum(weight.numel() for weight in _weights(model)) < LEAST:
        return None
    try:
        return LowWeights(model)
    except Exception:
        return None  # Not every network lets itself be copied.


def look(largest: Tensor, found: Tensor) -> None:
    """Write 1 where one of the magnitudes is not finite, 0 otherwise."""
    found.copy_(largest.isfinite().all().logical_not())


def descend(
    groups: list[Moving], count: Tensor, rate: Tensor, found: Tensor,
    momentum: float, weight_decay: float, nesterov: bool,
) -> None:  # fmt: skip
    """Do what the fused update of SGD does, and write the copies; where something was found, change nothing.

    To be compiled, and so each list is computed only once those it depends on are written: of values computed before,
    torch's compiler would read what stands in their place by then. Lists of one length are written by the same kernels.
    What was found is read alone: were it computed here, torch 2.11 would let the block of a parameter with one element
    write it in the very kernel whose other blocks read it.
    """
    skip = found.squeeze(0) != 0
    share = count.squeeze(0).clamp(min=1).reciprocal()
    for weights, gradients, momenta, copies in groups:
        ways = [g.float() * share + weight_decay * w for g, w in zip(gradients, weights, strict=True)]
        if momenta:
            moved = [torch.where(skip, m, momentum * m + way) for m, way in zip(momenta, ways, strict=True)]
            torch._foreach_copy_(momenta, moved)
            ways = [way + momentum * m for way, m in zip(ways, momenta, strict=True)] if nesterov else momenta
        torch._foreach_copy_(
            weights, [torch.where(skip, w, w - rate * way) for w, way in zip(weights, ways, strict=True)]
        )
        if copies:
            torch._foreach_copy_(copies, weights)


def _weights(model: nn.Module) -> list[nn.Parameter]:
    """Return the weights that nothing but known layers uses, in the order of the parameters."""
    users: dict[nn.Parameter, bool] = {}
    for module in model.modules():
        known = type(module).forward in KNOWN and "forward" not in vars(module) and not module._forward_pre_hooks
        for parameter in module.parameters(recurse=False):
            users[parameter] = users.get(parameter, True) and known and parameter.dtype == torch.float32
    return [parameter for parameter in model.parameters() if users[parameter]]
