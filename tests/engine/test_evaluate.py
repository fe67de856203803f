"""Predictions over a whole set."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from pencil.data import ArrayInputs
from pencil.data.transforms.augment import Prepare
from pencil.engine import predict
from pencil.engine.evaluate import Evaluator, accuracy, least_loss, mean_loss
from pencil.runtime import PRECISIONS

CPU = torch.device("cpu")
PLAIN = PRECISIONS["32-true"]


@pytest.mark.parametrize("resident", [True, False])
def test_outputs_are_the_networks_in_order_and_the_network_is_left_as_it_was(
    resident: bool, digits: Any, networks: Any
) -> None:
    data = digits(50, images=True)
    model = networks["forgetful"]()
    evaluator = Evaluator(ArrayInputs(data.x), Prepare(data.preparation, 0), PLAIN, CPU, resident=resident)
    evaluator.batch = 16
    before = {k: v.clone() for k, v in model.state_dict().items()}
    out = evaluator.logits(model.train())
    assert model.training, "training mode is given back"
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items()), "no running statistics moved"
    x = (torch.from_numpy(data.x).float() - 80) / 95
    with torch.no_grad():
        expected = model.eval()(x.permute(0, 3, 1, 2))
    assert torch.allclose(out, expected, atol=1e-5)


def test_accuracy_counts_known_labels_only() -> None:
    class Echo(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    rows = np.eye(3, dtype=np.float32)[[0, 1, 2, 0]]
    from pencil.data import Preparation

    prepare = Prepare(Preparation("rows", (3,), (0.0,) * 3, (1.0,) * 3), 0)
    evaluator = Evaluator(ArrayInputs(rows), prepare, PLAIN, CPU, resident=True)
    assert accuracy(evaluator.logits(Echo()), torch.tensor([0, 1, 0, -1])) == pytest.approx(200 / 3)
    assert accuracy(evaluator.logits(Echo()), torch.tensor([-1, -1, -1, -1])) == 0
    probabilities = predict(Echo(), ArrayInputs(rows), prepare, PLAIN, CPU)
    e = np.exp(1)
    assert probabilities[0].tolist() == pytest.approx([e / (e + 2), 1 / (e + 2), 1 / (e + 2)])


def test_outputs_that_are_not_finite_tell_nothing_and_spoil_no_mean() -> None:
    class Upside(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 1 / x

    from pencil.data import Preparation

    rows = np.array([[1, 0.5], [0, 1], [0.5, 1]], dtype=np.float32)
    prepare = Prepare(Preparation("rows", (2,), (0.0,) * 2, (1.0,) * 2), 0)
    evaluator = Evaluator(ArrayInputs(rows), prepare, PLAIN, CPU, resident=True)
    outputs = evaluator.logits(Upside())
    assert outputs.tolist() == [[1, 2], [0, 0], [2, 1]]
    assert math.isfinite(mean_loss(outputs, torch.tensor([1, 1, 0])))


def test_the_least_loss_is_that_of_the_best_temperature() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 5, (400,), generator=generator)
    calm = torch.randn(400, 5, generator=generator) + 1.3 * nn.functional.one_hot(labels, 5)
    found = [least_loss(scale * calm, labels) for scale in (0.5, 1.0, 8.0, 40.0)]
    expected = min(mean_loss(calm / 2 ** (power / 50), labels) for power in range(-100, 100))
    assert found == pytest.approx([expected] * 4, abs=1e-4)
    assert mean_loss(8 * calm, labels) > expected + 0.5
    # What has no label does not count.
    unknown = torch.cat([labels, torch.full((50,), -1)])
    assert least_loss(torch.cat([calm, 9 * torch.randn(50, 5, generator=generator)]), unknown) == pytest.approx(
        found[1]
    )
    # Outputs that tell nothing cost no more than a guess.
    assert least_loss(9 * torch.randn(4000, 5, generator=generator), torch.arange(4000) % 5) < math.log(5) + 0.02
