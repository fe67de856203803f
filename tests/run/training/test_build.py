"""The engine of a plan."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pencil import data
from pencil.config import HardwareSettings, merge
from pencil.engine import ResidentFeed, StreamingFeed
from pencil.errors import PencilError
from pencil.run.planning.plan import plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine
from pencil.runtime import Processes


def test_table_network_and_feeds_come_from_the_plan(quick: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 5)).astype(np.float32), np.arange(40) % 4
    y[5] = -1
    trusted = np.arange(40) < 3
    source = data.from_arrays(x, y, class_names=list("abcd"), trusted=trusted, clean=np.arange(40) % 4)
    planned = plan(source, merge(quick, {"data": {"held_out": 0.0}, "options": {"init_scale": 7.0}}))
    engine, _ = build_engine(planned, choose_machine(planned.settings.hardware))
    columns = engine.state.table.columns
    assert columns["given"].tolist() == y.tolist()
    assert columns["locked"].tolist() == trusted.tolist()
    assert columns["clean"].tolist() == (np.arange(40) % 4).tolist()
    assert columns["label_logits"].max() == 7 and (columns["label_logits"][5] == 0).all()
    assert engine.batch_size == 40, "never more than there is"
    assert engine.watched == {}
    assert engine.state.optimizer_settings == planned.settings.optimizer


def test_a_table_does_not_write_into_the_data(quick: dict[str, Any]) -> None:
    x = np.zeros((4, 2), np.float32)
    soft = np.array([[0.5, 0.5], [0.25, 0.75], [1, 0], [0, 1]], np.float32)
    trusted = np.array([True, False, False, False])
    source = data.from_arrays(x, soft, trusted=trusted, ids=list("abcd"))
    planned = plan(source, merge(quick, {"data": {"held_out": 0.0}}))
    engine, _ = build_engine(planned, choose_machine(planned.settings.hardware))
    for column in engine.state.table.columns.values():
        column.zero_()
    assert planned.dataset.train.distribution is not None and planned.dataset.train.trusted is not None
    np.testing.assert_allclose(planned.dataset.train.distribution, soft)
    assert planned.dataset.train.trusted.tolist() == trusted.tolist()


class Other(Processes):
    """The second of two processes, whose leader has another seed."""

    rank, count = 1, 2

    def leader_number(self, number: float) -> float:
        return number + 1


def test_processes_must_have_one_seed(quick: dict[str, Any]) -> None:
    planned = plan((np.zeros((4, 2), np.float32), np.arange(4) % 2), quick)
    machine = replace(choose_machine(planned.settings.hardware), processes=Other())
    with pytest.raises(PencilError, match="the processes of this run have different seeds"):
        build_engine(planned, machine)


class Alike(Processes):
    """Numbers of processes come as floats."""

    def leader_number(self, number: float) -> float:
        return float(number)


def test_a_large_seed_is_one_seed(quick: dict[str, Any]) -> None:
    planned = plan((np.zeros((4, 2), np.float32), np.arange(4) % 2), merge(quick, {"seed": 2**53 + 1}))
    build_engine(planned, replace(choose_machine(planned.settings.hardware), processes=Alike()))


def test_the_same_seed_makes_the_same_network_and_another_another(quick: dict[str, Any]) -> None:
    def weights(seed: int) -> torch.Tensor:
        planned = plan("digits", merge(quick, {"seed": seed}))
        torch.manual_seed(np.random.default_rng().integers(2**31))
        engine, _ = build_engine(planned, choose_machine(planned.settings.hardware))
        return torch.cat([p.detach().flatten() for p in engine.state.model.parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


@pytest.mark.parametrize(
    ("asked", "kind", "word"),
    [("yes", ResidentFeed, "held"), ("no", StreamingFeed, "streamed"), ("auto", ResidentFeed, "held")],
)
def test_where_the_data_lives(asked: str, kind: type, word: str, quick: dict[str, Any]) -> None:
    planned = plan("digits", merge(quick, {"hardware": {"resident": asked}}))
    engine, lines = build_engine(planned, choose_machine(planned.settings.hardware))
    assert isinstance(engine.feed, kind) and word in lines[0]
    assert set(engine.watched) == {"held_out", "test"}


def test_what_can_only_be_read_is_streamed(quick: dict[str, Any]) -> None:
    planned = plan("digits", quick)

    class OneByOne:
        array = None

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __len__(self) -> int:
            return len(self.inner)

        def read(self, index: Any) -> Any:
            return self.inner.read(index)

    train = replace(planned.dataset.train, inputs=OneByOne(planned.dataset.train.inputs))
    planned = replace(planned, dataset=replace(planned.dataset, train=train))
    engine, lines = build_engine(planned, choose_machine(planned.settings.hardware))
    assert isinstance(engine.feed, StreamingFeed) and "read example by example" in lines[0]


def test_precision_reaches_network_and_table(quick: dict[str, Any]) -> None:
    planned = plan("digits", merge(quick, {"hardware": {"precision": "64-true"}}))
    machine = choose_machine(planned.settings.hardware)
    engine, _ = build_engine(planned, machine)
    assert machine.precision.name == "64-true"
    assert {p.dtype for p in engine.state.model.parameters()} == {torch.float64}
    assert engine.state.table.columns["label_logits"].dtype is torch.float64
    assert choose_machine(HardwareSettings(device="cpu", threads=1)).threads == 1
