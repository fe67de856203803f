"""Averaged weights of a network: a steadier teacher than the network itself while the learning rate is high."""

import copy

import torch
from torch import Tensor, nn

from pencil.errors import PencilError
from pencil.lines import first_line


class Average:
    """A copy of a network that follows it: the mean of its weights at first, then a moving average over `steps`.

    Running statistics are averaged too, and the copy always predicts with them; what is no number with a mean is taken
    as the network has it.
    """

    def __init__(self, model: nn.Module, steps: float) -> None:
        self.network = _twin(model).eval().requires_grad_(False)
        first = next(model.parameters())
        self.count = torch.zeros((), dtype=first.dtype, device=first.device)
        """Steps followed since the start, or the last restart."""
        self.least = min(1.0, 1 / steps)
        pairs = _pairs(model, self.network)
        self.theirs, self.mine = _columns([pair for pair in pairs if _has_mean(pair[0])])
        self.their_marks, self.my_marks = _columns([pair for pair in pairs if not _has_mean(pair[0])])
        """What has no mean: counters, orders, masks, of infinity too."""

    @torch.no_grad()
    def follow(self) -> None:
        """Move towards the network by one step; tensors alone, so that a captured step can do it."""
        self.count += 1
        way = self.count.reciprocal().clamp(min=self.least)
        difference = torch._foreach_sub(self.theirs, self.mine)
        torch._foreach_mul_(difference, way)
        torch._foreach_add_(self.mine, difference)
        self._take_marks()

    @torch.no_grad()
    def restart(self) -> None:
        """Begin anew at the network's weights of now."""
        torch._foreach_copy_(self.mine, self.theirs)
        self._take_marks()
        self.count.zero_()

    def _take_marks(self) -> None:
        if self.my_marks:
            torch._foreach_copy_(self.my_marks, self.their_marks)

    def tensors(self) -> dict[str, Tensor]:
        """Return all that a checkpoint needs."""
        return {"count": self.count, **{f"model.{k}": v for k, v in self.network.state_dict().items()}}


def _twin(model: nn.Module) -> nn.Module:
    """Copy a network; what it has computed and keeps beside its tensors, as weight norms do, as numbers alone."""
    kept = [value for module in model.modules() for value in vars(module).values() if isinstance(value, Tensor)]
    try:
        return copy.deepcopy(model, {id(value): value.detach().clone() for value in kept if not value.is_leaf})
    except Exception as error:  # A user's code may fail in any way.
        raise PencilError(
            f"the network cannot be copied ({first_line(error)}), as averaging its weights needs; use"
            " --set teaching.average_epochs=0."
        ) from error


def _has_mean(value: Tensor) -> bool:
    return value.is_floating_point() and bool(value.isfinite().all())


def _pairs(model: nn.Module, twin: nn.Module) -> list[tuple[Tensor, Tensor]]:
    """Return the tensors of a network and its copy; one that has several names only once, or it would move twice."""
    theirs, mine = model.state_dict(keep_vars=True), twin.state_dict(keep_vars=True)
    once = {id(value): (value.data, mine[name].data) for name, value in theirs.items()}
    return list(once.values())


def _columns(pairs: list[tuple[Tensor, Tensor]]) -> tuple[list[Tensor], list[Tensor]]:
    return [theirs for theirs, _ in pairs], [mine for _, mine in pairs]
