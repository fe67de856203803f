"""How labels move: each rule over several epochs against NumPy, locks, and the history of changes."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from pencil.table import EpochAverage, ExampleTable, Fixed, GradientStep, MovingAverage, Rule
from pencil.table.rules import apply

Array = NDArray[np.float64]
N, C, EPOCHS = 6, 4, 7
RNG = np.random.default_rng(3)
GIVEN = np.array([0, 1, 2, 3, -1, 1])
PREDICTIONS = RNG.dirichlet(np.ones(C) / 2, size=(EPOCHS, N))
GRADIENTS = RNG.normal(size=(EPOCHS, N, C))


def softmax(z: Array) -> Array:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def start(**more: Tensor) -> ExampleTable:
    return ExampleTable.start(torch.from_numpy(GIVEN), C, scale=1.0, dtype=torch.float64, **more)


def step(rule: Rule, table: ExampleTable, epoch: int, *, eta: float = 0.3, usable: Tensor | None = None) -> None:
    """One epoch in two batches of uneven size."""
    order = torch.from_numpy(np.random.default_rng(epoch).permutation(N))
    usable = torch.ones(N, dtype=torch.bool) if usable is None else usable
    for index in order.split(4):
        changed = apply(
            rule,
            table.gather(index),
            torch.from_numpy(GRADIENTS[epoch])[index],
            torch.from_numpy(PREDICTIONS[epoch])[index],
            torch.tensor([eta], dtype=torch.float64),
            torch.tensor([epoch]),
            usable[index],
        )
        table.scatter(index, changed)


def run(rule: Rule, table: ExampleTable) -> list[Array]:
    rule.prepare(table)
    seen = []
    for epoch in range(EPOCHS):
        step(rule, table, epoch)
        seen.append(table.columns["label_logits"].numpy().copy())
    return seen


def test_fixed_labels_do_not_move_by_a_bit() -> None:
    table = start()
    before = {name: column.clone() for name, column in table.columns.items()}
    run(Fixed(), table)
    assert all(torch.equal(column, before[name]) for name, column in table.columns.items())
    assert not Fixed.moves and not Fixed.uses_gradient and GradientStep.uses_gradient


def test_gradient_steps_are_plain() -> None:
    table = start()
    start_logits = table.columns["label_logits"].numpy().copy()
    for epoch, logits in enumerate(run(GradientStep(), table)):
        expected = start_logits - 0.3 * GRADIENTS[: epoch + 1].sum(0)
        np.testing.assert_allclose(logits, expected, atol=1e-13)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_moving_average(momentum: float) -> None:
    table = start()
    y = softmax(table.columns["label_logits"].numpy())
    for epoch, logits in enumerate(run(MovingAverage(momentum), table)):
        y = momentum * y + (1 - momentum) * PREDICTIONS[epoch]
        np.testing.assert_allclose(softmax(logits), y, atol=1e-13)


@pytest.mark.parametrize("last", [1, 3, 20])
def test_epoch_average_is_the_mean_of_the_last_predictions(last: int) -> None:
    for epoch, logits in enumerate(run(EpochAverage(last), start())):
        expected = PREDICTIONS[max(0, epoch + 1 - last) : epoch + 1].mean(0)
        np.testing.assert_allclose(softmax(logits), expected, atol=1e-13)
        np.testing.assert_allclose(np.exp(logits), expected, atol=1e-13, err_msg="the very mean, not a multiple")


def test_predictions_recorded_before_labels_move_count() -> None:
    table = start()
    before = table.columns["label_logits"].clone()
    recording, moving = EpochAverage(4, moving=False), EpochAverage(4)
    recording.prepare(table)
    for epoch in range(3):
        step(recording, table, epoch)
    assert torch.equal(table.columns["label_logits"], before)
    moving.prepare(table)
    step(moving, table, 3)
    np.testing.assert_allclose(table.distributions().numpy(), PREDICTIONS[:4].mean(0), atol=1e-13)


@pytest.mark.parametrize("rule", [GradientStep(), MovingAverage(), EpochAverage(3)])
def test_locked_rows_never_move(rule: Rule) -> None:
    locked = torch.tensor([False, True, False, True, True, False])
    table = start(trusted_N=locked)
    before = {name: column.clone() for name, column in table.columns.items()}
    run(rule, table)
    for name, column in before.items():
        assert torch.equal(table.columns[name][locked], column[locked]), name
    assert not torch.isclose(table.columns["label_logits"], before["label_logits"])[~locked].all(-1).any()


@pytest.mark.parametrize("rule", [GradientStep(), MovingAverage(), EpochAverage(3)])
def test_rows_that_are_not_usable_stay_while_the_others_move(rule: Rule) -> None:
    table = start()
    rule.prepare(table)
    usable = torch.tensor([True, False, True, True, False, True])
    before = {name: column.clone() for name, column in table.columns.items()}
    step(rule, table, 0, usable=usable)
    for name, column in before.items():
        assert torch.equal(table.columns[name][~usable], column[~usable]), name
    assert not (table.columns["label_logits"] == before["label_logits"])[usable].all(-1).any()


def test_a_row_whose_new_label_is_not_finite_keeps_the_old_one() -> None:
    table = start()
    rows = table.gather(torch.arange(N))
    gradient = torch.ones(N, C, dtype=torch.float64)
    gradient[2, 1], gradient[4, 0] = torch.nan, torch.inf
    changed = apply(
        GradientStep(), rows, gradient, torch.full((N, C), 0.25, dtype=torch.float64),
        torch.tensor([0.5], dtype=torch.float64), torch.tensor([0]), torch.ones(N, dtype=torch.bool),
    )  # fmt: skip
    assert torch.equal(changed["label_logits"][[2, 4]], rows["label_logits"][[2, 4]])
    assert torch.equal(changed["label_logits"][[0, 1, 3, 5]], rows["label_logits"][[0, 1, 3, 5]] - 0.5)


@pytest.mark.parametrize("rule", [GradientStep(), MovingAverage(0.7), EpochAverage(2)])
def test_the_history_of_changes(rule: Rule) -> None:
    table = start()
    previous = table.columns["label_logits"].numpy().argmax(-1)
    last, count = np.full(N, -1), np.zeros(N, int)
    for epoch, logits in enumerate(run(rule, table)):
        now = logits.argmax(-1)
        last, count = np.where(now != previous, epoch, last), count + (now != previous)
        previous = now
    assert count.sum() > N, "the test needs labels that change, some more than once"
    assert table.columns["changed_at"].tolist() == last.tolist()
    assert table.columns["num_changes"].tolist() == count.tolist()


@pytest.mark.parametrize("rule", [GradientStep(), MovingAverage(0.2), EpochAverage(2)])
def test_labels_stay_distributions_under_certain_predictions(rule: Rule) -> None:
    table = start()
    rule.prepare(table)
    hot = torch.eye(C, dtype=torch.float64)[[1, 1, 1, 1, 1, 1]]
    for epoch in range(200):
        y = table.distributions()
        changed = apply(
            rule, table.gather(torch.arange(N)), y - hot, hot, torch.tensor([5.0], dtype=torch.float64),
            torch.tensor([epoch]), torch.ones(N, dtype=torch.bool),
        )  # fmt: skip
        table.scatter(torch.arange(N), changed)
    y = table.distributions()
    assert y.isfinite().all() and (y >= 0).all()
    assert y.sum(-1).numpy() == pytest.approx(np.ones(N), abs=1e-12)
    assert (y.argmax(-1) == 1).all()
