"""The engine against a plain training loop, written the way the paper's authors released theirs.

L = (1/c)·KL(f ‖ y^d) + α·L_o + (β/c)·H(f), averages over the batch; ỹ ← ỹ − λ ∂L/∂ỹ. Nothing here is the project's.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, one_hot, softmax

from pencil import methods
from pencil.config import OptimizerSettings

C, BATCH, K = 10, 32, 10.0
EPOCHS = (2, 3, 3)
ALPHA, BETA = 0.1, 0.4
TUNING = {0: 0.1, 1: 0.01, 2: 0.001}


def script(
    model: nn.Module,
    x: Tensor,
    given: Tensor,
    epochs: list[list[Tensor]],
    *,
    twice: bool,
    lam: Callable[[float], float],
) -> tuple[Tensor, list[float]]:
    """Train in three stages on these batches; return the label variables and each epoch's mean loss."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0, momentum=0.9, weight_decay=1e-4, foreach=False)
    label_variables = K * one_hot(given, C).to(x.dtype)
    losses = []
    for epoch, batches in enumerate(epochs):
        stage = 1 if epoch < EPOCHS[0] else 2 if epoch < sum(EPOCHS[:2]) else 3
        lr = 0.05 if stage < 3 else TUNING[epoch - sum(EPOCHS[:2])]
        for group in optimizer.param_groups:
            group["lr"] = lr
        total = 0.0
        for number, index in enumerate(batches):
            output = model(x[index])
            yy = label_variables[index].clone().requires_grad_()
            y = softmax(yy, 1)
            lc = torch.mean(softmax(output, 1) * (log_softmax(output, 1) - torch.log(y)))
            if stage == 1:
                loss = cross_entropy(output, given[index])
            elif stage == 2:
                # cross_entropy applies a softmax of its own: given log y it is the printed form, given y the released.
                lo = cross_entropy(y if twice else torch.log(y), given[index])
                le = -torch.mean(softmax(output, 1) * log_softmax(output, 1))
                loss = lc + ALPHA * lo + BETA * le
            else:
                loss = lc
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(index)
            if stage == 2:
                assert yy.grad is not None
                # λ belongs to the full batch: the mean over a short one is brought to the same footing.
                rate = lam(epoch - EPOCHS[0] + number / len(batches)) * len(index) / BATCH
                label_variables[index] -= rate * yy.grad
        losses.append(total / len(given))
    return label_variables, losses


@pytest.mark.parametrize("form", ["code", "paper"])
@pytest.mark.parametrize(
    ("n", "label_lr", "lam"),
    [
        (160, "400", lambda epoch: 400),
        (160, "600 -> 0", lambda epoch: 600 * (1 - epoch / 3)),
        (140, "500, 250@1", lambda epoch: 500 if epoch < 1 else 250),
    ],
    ids=["constant", "falling", "short last batch, steps"],
)
def test_three_phases_equal_the_script(
    form: str,
    n: int,
    label_lr: str,
    lam: Callable[[float], float],
    digits: Any,
    engine_of: Any,
    train: Any,
    networks: Any,
) -> None:
    data = digits(n)
    options = {
        "compatibility": form,
        "compatibility_weight": ALPHA,
        "entropy_weight": BETA,
        "label_lr": label_lr,
        "reference_batch": BATCH,
    }
    phases = {
        "backbone": (EPOCHS[0], "0.05"),
        "labels": (EPOCHS[1], "0.05"),
        "tuning": (EPOCHS[2], "0.1, 0.01@1, 0.001@2"),
    }
    engine = engine_of(
        data,
        methods.create("pencil", options, C),
        phases,
        networks["perceptron"],
        precision="64-true",
        batch=BATCH,
        optimizer=OptimizerSettings(momentum=0.9, weight_decay=1e-4),
    )
    model = deepcopy(engine.state.model)
    started = deepcopy(model.state_dict())
    history = train(engine)

    batches = engine.feed.epochs
    assert len(batches) == sum(EPOCHS)
    for epoch in batches:
        assert sorted(torch.cat(epoch).tolist()) == list(range(n)), "each example once an epoch"
    assert not torch.equal(torch.cat(batches[0]), torch.cat(batches[1])), "in a new order"

    x, given = torch.from_numpy(data.x).double(), torch.from_numpy(data.given)
    labels, losses = script(model, x, given, batches, twice=form == "code", lam=lam)

    moved = (labels - K * one_hot(given, C)).abs().max().item()
    assert moved > 0.5, "the labels moved far enough for a difference to show"
    torch.testing.assert_close(engine.state.table.columns["label_logits"], labels, rtol=0, atol=1e-10)
    for name, weight in model.state_dict().items():
        here = engine.state.model.state_dict()[name]
        torch.testing.assert_close(here, weight, rtol=0, atol=1e-10, msg=lambda text, name=name: f"{name}: {text}")
        if name.endswith("weight"):
            assert (here - started[name]).abs().max() > 1e-3
    # The record's loss is in summed units: c times the script's in the last two stages.
    recorded = [record["loss"] / (1 if record["phase"] == "backbone" else C) for record in history.records]
    np.testing.assert_allclose(recorded, losses, atol=1e-10)


@pytest.mark.parametrize("nesterov", [False, True])
def test_cross_entropy_equals_a_plain_loop(
    nesterov: bool, digits: Any, engine_of: Any, train: Any, networks: Any
) -> None:
    data = digits(150)
    engine = engine_of(
        data,
        methods.create("cross_entropy", {}, C),
        {"training": (3, "0.1, 0.01@2")},
        networks["perceptron"],
        precision="64-true",
        optimizer=OptimizerSettings(momentum=0.8, weight_decay=0.01, nesterov=nesterov),
    )
    model = deepcopy(engine.state.model)
    train(engine)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8, weight_decay=0.01, nesterov=nesterov)
    x, given = torch.from_numpy(data.x).double(), torch.from_numpy(data.given)
    for epoch, batches in enumerate(engine.feed.epochs):
        optimizer.param_groups[0]["lr"] = 0.1 if epoch < 2 else 0.01
        for index in batches:
            optimizer.zero_grad()
            cross_entropy(model(x[index]), given[index]).backward()
            optimizer.step()
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(engine.state.model.state_dict()[name], weight, rtol=0, atol=1e-10)


def test_without_momentum_too(digits: Any, engine_of: Any, train: Any, networks: Any) -> None:
    data = digits(64)
    settings = OptimizerSettings(momentum=0.0, weight_decay=0.0)
    engine = engine_of(
        data, methods.create("cross_entropy", {}, C), {"training": (2, "0.1")}, networks["perceptron"],
        precision="64-true", optimizer=settings,
    )  # fmt: skip
    model = deepcopy(engine.state.model)
    train(engine)
    x, given = torch.from_numpy(data.x).double(), torch.from_numpy(data.given)
    for index in (index for batches in engine.feed.epochs for index in batches):
        gradients = torch.autograd.grad(cross_entropy(model(x[index]), given[index]), list(model.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter -= 0.1 * gradient
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(engine.state.model.state_dict()[name], weight, rtol=0, atol=1e-12)


def test_weights_multiply_each_examples_loss(digits: Any, engine_of: Any, train: Any, networks: Any) -> None:
    data = digits(64)
    engine = engine_of(
        data, methods.create("cross_entropy", {}, C), {"training": (2, "0.1")}, networks["perceptron"],
        precision="64-true", optimizer=OptimizerSettings(momentum=0.0, weight_decay=0.0),
    )  # fmt: skip
    weight = torch.from_numpy(np.random.default_rng(0).uniform(0, 2, size=64))
    engine.state.table.columns["weight"].copy_(weight)
    model = deepcopy(engine.state.model)
    train(engine)
    x, given = torch.from_numpy(data.x).double(), torch.from_numpy(data.given)
    for index in (index for batches in engine.feed.epochs for index in batches):
        loss = (weight[index] * cross_entropy(model(x[index]), given[index], reduction="none")).mean()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter -= 0.1 * gradient
    for name, value in model.state_dict().items():
        torch.testing.assert_close(engine.state.model.state_dict()[name], value, rtol=0, atol=1e-12)
