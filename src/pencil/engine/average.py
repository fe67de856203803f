"""Averaged weights of a network: a steadier teacher than the network itself while the learning rate is high."""

import copy

import torch
from torch import Tensor, nn


class Average:
    """A copy of a network that follows it: the mean of its weights at first, then a moving average over `steps`.

    Running statistics are averaged too, and the copy always predicts with them.
    """

    def __init__(self, model: nn.Module, steps: float) -> None:
        self.network = copy.deepcopy(model).eval().requires_grad_(False)
        first = next(model.parameters())
        self.count = torch.zeros((), dtype=first.dtype, device=first.device)
        """Steps followed since the start, or the last restart."""
        self.least = min(1.0, 1 / steps)
        theirs, mine = model.state_dict(keep_vars=True), self.network.state_dict(keep_vars=True)
        numbers = [name for name, value in theirs.items() if value.is_floating_point()]
        self.theirs, self.mine = [theirs[name].data for name in numbers], [mine[name].data for name in numbers]

    @torch.no_grad()
    def follow(self) -> None:
        """Move towards the network by one step; tensors alone, so that a captured step can do it."""
        self.count += 1
        way = self.count.reciprocal().clamp(min=self.least)
        difference = torch._foreach_sub(self.theirs, self.mine)
        torch._foreach_mul_(difference, way)
        torch._foreach_add_(self.mine, difference)

    @torch.no_grad()
    def restart(self) -> None:
        """Begin anew at the network's weights of now."""
        torch._foreach_copy_(self.mine, self.theirs)
        self.count.zero_()

    def tensors(self) -> dict[str, Tensor]:
        """Return all that a checkpoint needs."""
        return {"count": self.count, **{f"model.{k}": v for k, v in self.network.state_dict().items()}}
