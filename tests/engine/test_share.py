"""Each process's share of an epoch."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from torch import Tensor, nn

from pencil.engine.share import OwnBatches, average_buffers, sum_gradients
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


class Pair(Processes):
    """One of two processes, each in a thread of its own."""

    count = 2

    def __init__(self, rank: int, sent: list[list[Tensor]], meet: Barrier) -> None:
        self.rank, self.sent, self.meet = rank, sent, meet

    def sum(self, *tensors: Tensor) -> None:
        self.sent[self.rank] = [tensor.clone() for tensor in tensors]
        self.meet.wait()
        mine, others = self.sent[self.rank], self.sent[1 - self.rank]
        assert [each.shape for each in mine] == [each.shape for each in others], "a real sum would not end"
        for tensor, one, other in zip(tensors, mine, others, strict=True):
            tensor.copy_(one + other)


def test_gradients_add_up_where_a_process_rests_or_has_others() -> None:
    """Of five parameters both have the first, one the second, the other the third; none has the last two."""
    meet, sent = Barrier(2, timeout=10), [[], []]
    sizes, values = (3, 2, 4, 5, 6), ([1.0, 2.0, None, None, None], [10.0, None, 30.0, None, None])
    ranks = [[nn.Parameter(torch.zeros(size)) for size in sizes] for _ in range(2)]
    for parameters, mine in zip(ranks, values, strict=True):
        parameters[4].requires_grad_(False)
        for parameter, value in zip(parameters, mine, strict=True):
            parameter.grad = None if value is None else torch.full_like(parameter, value)

    def add(rank: int) -> float:
        count = torch.tensor([3.0 + rank])
        sum_gradients(ranks[rank], count, Pair(rank, sent, meet))
        return count.item()

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(add, range(2))) == [7, 7]
    for parameters in ranks:
        found = [None if p.grad is None else p.grad.tolist() for p in parameters]
        assert found == [[11.0] * 3, [2.0] * 2, [30.0] * 4, None, None]


def test_running_statistics_become_those_of_all_processes() -> None:
    """A mask may hold the largest of numbers; what is not in a network's state may be of another shape in each."""
    meet, sent = Barrier(2, timeout=10), [[], []]
    least = torch.finfo(torch.float32).min
    networks = [nn.BatchNorm1d(2) for _ in range(2)]
    for rank, network in enumerate(networks):
        network.running_mean.fill_(1.0 + 2 * rank)
        network.register_buffer("mask", torch.tensor([0.0, least]))
        network.register_buffer("ones", torch.ones(3 + rank), persistent=False)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda rank: average_buffers(networks[rank], Pair(rank, sent, meet)), range(2)))
    for network in networks:
        assert network.running_mean.tolist() == [2, 2]
        assert network.mask.tolist() == [0, least]
