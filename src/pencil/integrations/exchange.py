"""Changed rows of an example table, shared among the processes of one training loop.

Shapes: B examples in this process's batch, G in all processes' batches together.
"""

import torch
import torch.distributed as distributed
from torch import Tensor

from pencil.table import Rows


def is_alone() -> bool:
    """Say whether this process trains by itself."""
    return not distributed.is_available() or not distributed.is_initialized()


def everyones_rows(index_B: Tensor, rows: Rows) -> tuple[Tensor, Rows]:
    """Return the rows that any process has changed, in the order of the processes; alone, one's own.

    Each process must call this once a step. Where two processes had the same example, the later one's row is taken.
    """
    if not rows or is_alone():
        return index_B, rows
    counts = _counts(len(index_B), index_B.device)
    index_G = _gathered(index_B, counts)
    found = {name: _gathered(values, counts) for name, values in rows.items()}
    last_G = _last_of_each(index_G)
    return index_G[last_G], {name: values[last_G] for name, values in found.items()}


def _counts(count: int, device: torch.device) -> list[int]:
    """Ask every process how many rows it has."""
    found = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(distributed.get_world_size())]
    distributed.all_gather(found, torch.tensor([count], device=device))
    return [int(number) for number in found]


def _gathered(values: Tensor, counts: list[int]) -> Tensor:
    """Put the rows of all processes one after the other; each sends as many as the longest batch has."""
    # Truth values travel as bytes: not every backend knows them.
    sent = values.to(torch.uint8) if values.dtype == torch.bool else values
    padded = sent.new_zeros(max(counts), *sent.shape[1:])
    padded[: len(sent)] = sent
    parts = [torch.empty_like(padded) for _ in counts]
    distributed.all_gather(parts, padded)
    return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)]).to(values.dtype)


def _last_of_each(index_G: Tensor) -> Tensor:
    """Return the last position at which each example occurs: samplers repeat examples to fill up a batch."""
    place = {example: position for position, example in enumerate(index_G.tolist())}
    return torch.tensor(list(place.values()), dtype=torch.int64, device=index_G.device)
