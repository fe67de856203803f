"""Inputs held or streamed: the same training to the bit; the network sees the images that seed and epoch prescribe."""

import multiprocessing
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pencil import methods
from pencil.data import ArrayInputs
from pencil.engine import ResidentFeed, StreamingFeed

C = 10
PHASES = {"backbone": (1, "0.1"), "labels": (2, "0.1"), "tuning": (1, "0.1")}
CPU = torch.device("cpu")


def pencil() -> Any:
    return methods.create("pencil", {"anchor": 0.5, "label_step": "2"}, C)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("images", [True, False])
def test_streaming_equals_resident_to_the_bit(
    images: bool, workers: int, digits: Any, engine_of: Any, train: Any, networks: Any
) -> None:
    data = digits(100, images=images)
    engines = [
        engine_of(data, pencil(), PHASES, networks["forgetful"], streaming=streaming, workers=workers * streaming)
        for streaming in (False, True)
    ]
    before = set(multiprocessing.active_children())
    histories = [train(engine).records for engine in engines]
    assert set(multiprocessing.active_children()) <= before, "workers outlive the training"
    resident, streamed = (engine.state.export() for engine in engines)
    assert histories[0] == histories[1]
    assert resident.keys() == streamed.keys()
    for name in resident:
        assert np.array_equal(resident[name], streamed[name]), name


class Watching(nn.Module):
    """Keeps every batch of images it is trained on."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.seen = nn.Linear(64, C), []

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.seen.append(x.detach().clone())
        out: Tensor = self.layer(x.flatten(1))
        return out


def views(engine_of: Any, train: Any, data: Any, batch: int, seed: int) -> Tensor:
    """[epoch, example] images that the network was shown, in table order."""
    engine = engine_of(data, methods.create("cross_entropy", {}, C), {"training": (3, "0")}, Watching, batch=batch, seed=seed)  # fmt: skip  # noqa: E501
    train(engine)
    seen = iter(engine.state.model.seen)
    epochs = []
    for batches in engine.feed.epochs:
        images = torch.empty(len(data.given), 1, 8, 8)
        for index in batches:
            images[index] = next(seen)
        epochs.append(images)
    return torch.stack(epochs)


def test_what_an_example_looks_like_depends_on_seed_and_epoch_only(digits: Any, engine_of: Any, train: Any) -> None:
    data = digits(90, images=True)
    one = views(engine_of, train, data, batch=32, seed=4)
    assert torch.equal(one, views(engine_of, train, data, batch=7, seed=4))
    assert not torch.equal(one, views(engine_of, train, data, batch=32, seed=5))
    different = (one[0] != one[1]).flatten(1).any(-1).float().mean()
    assert different > 0.8, "most examples look different in the next epoch"


def test_a_resident_feed_gives_rows_by_index() -> None:
    array = np.arange(24, dtype=np.uint8).reshape(6, 4)
    array.setflags(write=False)
    feed = ResidentFeed(ArrayInputs(array), CPU)
    assert feed.raw(torch.tensor([5, 0])).tolist() == array[[5, 0]].tolist()


def test_a_streaming_feed_gives_each_batch_in_turn_in_one_place() -> None:
    array = np.arange(24, dtype=np.float32).reshape(6, 4)
    feed = StreamingFeed(ArrayInputs(array), CPU, batch_size=4, workers=0)
    batches = [torch.tensor([5, 0, 3, 2]), torch.tensor([1, 4])]
    for _ in range(2):
        feed.start_epoch(batches)
        for index in batches:
            feed.stage()
            got = feed.raw(index)
            assert got.tolist() == array[index.numpy()].tolist()
            assert got.data_ptr() == feed.buffer.data_ptr()


def test_streaming_does_not_touch_the_networks_random_numbers() -> None:
    feed = StreamingFeed(ArrayInputs(np.zeros((6, 4), np.float32)), CPU, batch_size=4, workers=0)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    feed.start_epoch([torch.tensor([0, 1])])
    feed.stage()
    assert torch.equal(before, torch.get_rng_state())
