"""What each of several processes takes of an epoch, and how their parts become one again."""

from collections.abc import Iterable, Sequence
from copy import copy
from typing import overload

import torch
from torch import Tensor, nn

from pencil.engine.state import State, statistics
from pencil.runtime import Processes


class OwnBatches(Sequence[Tensor]):
    """This process's share of each batch of an epoch: every example once, none twice; the last may be empty.

    Neighbours stay together, since a method may mix them. Millions of batches take no more than their order.
    """

    def __init__(self, order_N: Tensor, batch_size: int, processes: Processes) -> None:
        mine_B = torch.arange(batch_size) // 2 % processes.count == processes.rank
        whole, rest = divmod(len(order_N), batch_size)
        self.size = int(mine_B.sum())
        self.steps = whole + bool(rest)
        if processes.count > 1:
            order_N = order_N[mine_B.repeat(self.steps)[: len(order_N)]]
        self.order = order_N
        """The examples of all its batches, one after the other."""

    def start(self, number: int) -> int:
        """Return how many examples come before a batch."""
        return min(number * self.size, len(self.order))

    def __len__(self) -> int:
        return self.steps

    @overload
    def __getitem__(self, which: int) -> Tensor: ...
    @overload
    def __getitem__(self, which: slice) -> "OwnBatches": ...
    def __getitem__(self, which: int | slice) -> "Tensor | OwnBatches":
        if isinstance(which, int):
            if not 0 <= which < self.steps:
                raise IndexError(which)
            return self.order[self.start(which) : self.start(which + 1)]
        first, end, step = which.indices(self.steps)
        assert step == 1
        part = copy(self)
        part.steps = max(end - first, 0)
        part.order = self.order[self.start(first) : self.start(end)]
        return part


def unite(state: State, processes: Processes) -> None:
    """Make table and meters of all processes the same: each answers for the rows it has seen in this epoch."""
    if processes.count == 1:
        return
    answered_N = _answered(state, processes)
    for column in state.table.columns.values():
        shared = torch.where(answered_N.view(-1, *[1] * (column.dim() - 1)), column, torch.zeros_like(column))
        whole = shared.to(torch.uint8) if column.dtype == torch.bool else shared
        processes.sum(whole)
        column.copy_(whole)
    processes.sum(state.meters.sums, state.meters.labels)


def _answered(state: State, processes: Processes) -> Tensor:
    """Rows this process has seen; the leading one also answers for those that none has seen yet."""
    seen_N = torch.zeros(len(state.table), dtype=torch.int32, device=state.device)
    seen_N[state.clock.order[: int(state.clock.position.item())]] = 1
    mine_N = seen_N.bool()
    processes.sum(seen_N)
    return mine_N | (seen_N == 0) if processes.leads else mine_N


def sum_gradients(parameters: Iterable[Tensor], count: Tensor, processes: Processes) -> None:
    """Add up counts and gradients; where no process has a gradient, there is none afterwards, as in one process.

    A process may lack some that others have: it rests, or its examples did not pass through a part of the network. All
    must send the same numbers, so it sends zeros for them.
    """
    learning = [parameter for parameter in parameters if parameter.requires_grad]
    mine = [parameter.grad is not None for parameter in learning]
    having = torch.ones(len(mine), dtype=count.dtype, device=count.device)
    if not all(mine):
        having.copy_(torch.tensor(mine))
    for parameter in learning:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    processes.sum(count, having, *[parameter.grad for parameter in learning if parameter.grad is not None])
    if all(mine):
        return  # Nobody lacks any then: a GPU need not be waited for.
    for parameter, found in zip(learning, having.tolist(), strict=True):
        if not found:
            parameter.grad = None


@torch.no_grad()
def average_buffers(model: nn.Module, processes: Processes) -> None:
    """Average running statistics, which each process gathers from its own share of the batches."""
    buffers = list(statistics(model).values())
    if processes.count == 1 or not buffers:
        return
    for buffer in buffers:
        # Before the sum, which the largest of numbers, as in masks, would not survive.
        buffer /= processes.count
    processes.sum(*buffers)
