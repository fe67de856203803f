"""The sums of an epoch have room for as many parts of a loss as the method says."""

from typing import Any

import numpy as np
import pytest
from torch import Tensor, nn

from pencil import methods
from pencil.errors import PencilError
from pencil.losses import cross_entropy
from pencil.methods import TrainedOnce
from pencil.types import Batch, Terms

PARTS = 10


class Many(TrainedOnce):
    """Cross entropy in ten parts, the first of them one share, the second two, …"""

    def cost(self, batch: Batch) -> Tensor:
        return cross_entropy(batch.logits, batch.given)

    def loss(self, batch: Batch) -> Terms:
        whole = self.cost(batch)
        return Terms({f"part {n}": whole * n / 55 for n in range(1, PARTS + 1)})


class Roomy(Many):
    most_parts = PARTS


def network() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))


def test_more_parts_than_there_is_room_for_are_refused_in_one_line(digits: Any, engine_of: Any, train: Any) -> None:
    engine = engine_of(digits(64), Many({}, 10), {"training": (1, 0.1)}, network)
    with pytest.raises(PencilError, match=r"10 parts, but there is room for 8; set most_parts = 10") as e:
        train(engine)
    assert "\n" not in str(e.value)


def test_a_method_says_how_many_parts_its_loss_has(digits: Any, engine_of: Any, train: Any) -> None:
    (record,) = train(engine_of(digits(64), Roomy({}, 10), {"training": (1, 0.1)}, network)).records
    assert len(record["loss_parts"]) == PARTS
    assert record["loss"] == pytest.approx(55 * record["loss_parts"]["part 1"])
    assert record["loss_parts"]["part 10"] == pytest.approx(10 * record["loss_parts"]["part 1"])


def test_examples_without_a_label_do_not_count_in_the_agreement_with_given_ones(
    digits: Any, engine_of: Any, train: Any
) -> None:
    data = digits(64, noise=0.0)
    data.given[np.arange(64) % 4 != 0] = -1
    engine = engine_of(data, methods.create("cross_entropy", {}, 10), {"training": (20, 0.5)}, network)
    assert train(engine).records[-1]["train_accuracy"] == 100
