"""Several processes that train one run together, started by `torchrun`; or one alone.

Each process takes its share of every batch. Sums over the processes make the rest the same as in one process.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from pencil.errors import PencilError


class Processes:
    """This process among all; alone, every sum is already complete."""

    rank: int = 0
    count: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes the files and speaks to the user."""
        return self.rank == 0

    def sum(self, *tensors: Tensor) -> None:
        """Add up tensors over all processes, in place."""

    def same(self, *tensors: Tensor) -> None:
        """Give all processes the leading one's tensors, in place."""

    def any(self, flag: bool) -> bool:
        """Say whether the flag is set in any process."""
        return flag

    def leader_says(self, flag: bool) -> bool:
        """Return the leading process's flag."""
        return flag

    def leader_number(self, number: float) -> float:
        """Return the leading process's number."""
        return number


ALONE = Processes()


class Launched(Processes):
    """One of several processes, over torch.distributed."""

    def __init__(self, rank: int, count: int, device: torch.device) -> None:
        self.rank, self.count, self.device = rank, count, device

    def sum(self, *tensors: Tensor) -> None:
        for group in _by_type(tensors):
            # One message for all of a type: many small ones cost more than their bytes.
            flat = torch.cat([tensor.reshape(-1) for tensor in group])
            self._reduce(flat, torch.distributed.ReduceOp.SUM)
            for tensor, part in zip(group, torch.split(flat, [tensor.numel() for tensor in group]), strict=True):
                tensor.copy_(part.view_as(tensor))

    def same(self, *tensors: Tensor) -> None:
        if not self.leads:
            for tensor in tensors:
                tensor.zero_()
        self.sum(*tensors)

    def any(self, flag: bool) -> bool:
        word = torch.tensor([int(flag)], device=self.device)
        self._reduce(word, torch.distributed.ReduceOp.MAX)
        return bool(word.item())

    def leader_says(self, flag: bool) -> bool:
        return self.any(flag and self.leads)

    def leader_number(self, number: float) -> float:
        word = torch.tensor([number if self.leads else 0.0], dtype=torch.float64, device=self.device)
        self.sum(word)
        return float(word.item())

    def _reduce(self, tensor: Tensor, how: Any) -> None:
        try:
            torch.distributed.all_reduce(tensor, op=how)
        except RuntimeError as error:
            raise PencilError(
                "another process of this run has died or cannot be reached; start all of them again with --resume."
            ) from error


def _by_type(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    groups: dict[torch.dtype, list[Tensor]] = {}
    for tensor in tensors:
        groups.setdefault(tensor.dtype, []).append(tensor)
    return list(groups.values())


def is_leader() -> bool:
    """Say whether this process writes and speaks, before it has joined the others."""
    return _count() < 2 or int(os.environ.get("RANK", "0")) == 0


def join_processes(choose_device: Callable[[], torch.device]) -> tuple[Processes, torch.device]:
    """Join the processes that `torchrun` started, or go alone; return them and this process's device."""
    if (count := _count()) < 2:
        return ALONE, choose_device()
    from lightning_fabric import Fabric

    here = int(os.environ.get("LOCAL_WORLD_SIZE", str(count)))
    fabric = Fabric(
        accelerator=choose_device().type, devices=here, num_nodes=max(count // here, 1), strategy="ddp", precision=None
    )
    if not torch.distributed.is_initialized():
        fabric.launch()
    return Launched(torch.distributed.get_rank(), count, fabric.device), fabric.device


def _count() -> int:
    """Return how many processes were started together; a RANK alone may be anybody's variable."""
    return int(os.environ.get("WORLD_SIZE", "1"))
