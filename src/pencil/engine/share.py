"""What each of several processes takes of an epoch, and how their parts become one again."""

import torch
from torch import Tensor, nn

from pencil.engine.state import State
from pencil.runtime import Processes


def own_batches(order_N: Tensor, batch_size: int, processes: Processes) -> list[Tensor]:
    """Return this process's share of each batch: every example once an epoch, none twice; the last may be empty.

    Neighbours stay together, since a method may mix them.
    """
    turn_B = torch.arange(batch_size) // 2 % processes.count
    return [batch[turn_B[: len(batch)] == processes.rank] for batch in torch.split(order_N, batch_size)]


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


@torch.no_grad()
def average_buffers(model: nn.Module, processes: Processes) -> None:
    """Average running statistics, which each process gathers from its own share of the batches."""
    buffers = [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    if processes.count == 1 or not buffers:
        return
    processes.sum(*buffers)
    for buffer in buffers:
        buffer /= processes.count
