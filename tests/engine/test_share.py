"""Each process's share of an epoch."""

import pytest
import torch

from pencil.engine.share import OwnBatches
from pencil.runtime import ALONE, Processes


def shares(length: int, batch_size: int, count: int) -> list[OwnBatches]:
    order = torch.randperm(length, generator=torch.Generator().manual_seed(0))
    ranks = [type("One", (Processes,), {"rank": rank, "count": count})() for rank in range(count)]
    return [OwnBatches(order, batch_size, one) for one in (ranks if count > 1 else [ALONE])]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("length", [1, 12, 13, 24, 27])
def test_every_example_comes_once_in_its_own_batch(count: int, length: int) -> None:
    (alone,) = shares(length, 12, 1)
    parts = shares(length, 12, count)
    assert all(len(part) == len(alone) == -(-length // 12) for part in parts), "all take as many steps"
    for step, whole in enumerate(alone):
        together = torch.cat([part[step] for part in parts])
        assert sorted(together.tolist()) == sorted(whole.tolist())
    for part in parts:
        assert part.order.tolist() == [row for batch in part for row in batch.tolist()]
        assert [part.start(step) for step in range(len(part))] == [
            sum(len(part[before]) for before in range(step)) for step in range(len(part))
        ]


def test_a_rest_of_an_epoch_is_what_is_left_of_it() -> None:
    (batches,) = shares(27, 12, 1)
    rest = batches[1:]
    assert [batch.tolist() for batch in rest] == [batch.tolist() for batch in list(batches)[1:]]
    assert len(batches[3:]) == 0
    with pytest.raises(IndexError):
        batches[3]
