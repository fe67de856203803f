"""Corrections by a transition matrix: against NumPy, at T = I, and what they are for."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from torch import Tensor

from pencil import losses

Vector = NDArray[np.float64]
LOGITS = arrays(np.float64, (3, 4), elements=st.floats(-10, 10))
LABELS = st.lists(st.integers(0, 3), min_size=3, max_size=3)
T = np.array([[0.7, 0.3, 0.0, 0.0], [0.1, 0.8, 0.1, 0.0], [0.0, 0.0, 1.0, 0.0], [0.05, 0.15, 0.2, 0.6]])


def softmax(z: Vector) -> Vector:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def forward(logits: Tensor, target: Vector, transition: Vector) -> Tensor:
    log_t = losses.log_transition(torch.from_numpy(transition))
    return losses.forward_correction(logits, torch.from_numpy(target), log_t)


def backward(logits: Tensor, target: Vector, transition: Vector) -> Tensor:
    inverse = torch.from_numpy(np.linalg.inv(transition))
    return losses.backward_correction(logits, torch.from_numpy(target), inverse)


@given(LOGITS, LABELS)
def test_forward_is_the_cross_entropy_of_the_noisy_prediction(z: Vector, labels: list[int]) -> None:
    noisy = softmax(z) @ T
    expected = [-np.log(noisy[i, label]) for i, label in enumerate(labels)]
    np.testing.assert_allclose(forward(torch.from_numpy(z), np.eye(4)[labels], T).numpy(), expected, rtol=1e-9)


@given(LOGITS, st.lists(st.integers(-1, 3), min_size=3, max_size=3))
def test_labels_that_are_classes_cost_the_same_as_their_distributions(z: Vector, labels: list[int]) -> None:
    log_t, class_B = losses.log_transition(torch.from_numpy(T)), torch.tensor(labels)
    target = np.eye(4)[labels] * (np.array(labels) >= 0)[:, None]
    logits = torch.from_numpy(z)
    found = losses.forward_correction(logits, torch.from_numpy(target), log_t, class_B)
    np.testing.assert_allclose(found.numpy(), forward(logits, target, T).numpy(), rtol=1e-9)


@given(LOGITS, LABELS)
def test_backward_weighs_the_losses_of_all_classes(z: Vector, labels: list[int]) -> None:
    inverse, cost = np.linalg.inv(T), np.minimum(-np.log(softmax(z)), np.inf)
    bound = np.where(inverse[labels] < 0, np.minimum(cost, -np.log(1e-7)), cost)
    expected = (inverse[labels] * bound).sum(-1)
    found = backward(torch.from_numpy(z), np.eye(4)[labels], T).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(LOGITS, LABELS)
def test_without_noise_both_are_cross_entropy(z: Vector, labels: list[int]) -> None:
    hot = np.eye(4)[labels]
    results = []
    for loss in (forward, backward, lambda x, y, _: losses.cross_entropy(x, torch.from_numpy(y))):
        logits = torch.tensor(z, requires_grad=True)
        cost = loss(logits, hot, np.eye(4))
        results.append((cost.detach().numpy(), torch.autograd.grad(cost.sum(), logits)[0].numpy()))
    for cost, slope in results[:2]:
        np.testing.assert_allclose(cost, results[2][0], atol=1e-9)
        np.testing.assert_allclose(slope, results[2][1], atol=1e-9)


def test_backward_is_the_clean_loss_in_the_mean_over_the_noise() -> None:
    z = np.random.default_rng(0).normal(size=(1, 4))
    for true in range(4):
        mean = sum(T[true, j] * backward(torch.from_numpy(z), np.eye(4)[[j]], T).item() for j in range(4))
        assert mean == pytest.approx(-np.log(softmax(z)[0, true]))


def test_forward_is_least_at_the_clean_posterior() -> None:
    clean = np.array([[0.1, 0.6, 0.05, 0.25]])
    logits = torch.tensor(np.log(clean), requires_grad=True)
    slope = torch.autograd.grad(forward(logits, clean @ T, T).sum(), logits)[0]
    assert slope.numpy() == pytest.approx(np.zeros((1, 4)), abs=1e-12)


@pytest.mark.parametrize("size", [1e2, 1e3])
def test_a_label_that_contradicts_a_sure_prediction_still_teaches(size: float) -> None:
    z = torch.tensor([[size, 0.0, 0.0, 0.0]], requires_grad=True)
    # With single precision and these logits fᵀT is zero, and so would its gradient be.
    log_t = losses.log_transition(torch.eye(4))
    cost = losses.forward_correction(z, torch.eye(4)[[2]], log_t)
    slope = torch.autograd.grad(cost.sum(), z)[0]
    assert cost.item() == pytest.approx(size)
    assert slope.tolist()[0] == pytest.approx([1, 0, -1, 0], abs=1e-6)


def test_backward_cannot_fall_for_ever() -> None:
    z = torch.tensor([[0.0, -1e6, 0.0, 0.0]], requires_grad=True)
    cost = losses.backward_correction(z, torch.eye(4)[[0]], torch.from_numpy(np.linalg.inv(T)).float())
    assert cost.item() > -1e3 and torch.autograd.grad(cost.sum(), z)[0].isfinite().all()


def test_missing_labels_cost_nothing() -> None:
    none = np.zeros((2, 4))
    for loss in (forward, backward):
        assert loss(torch.randn(2, 4, dtype=torch.float64), none, T).tolist() == [0, 0]


def test_the_estimate_takes_the_surest_example_of_each_class() -> None:
    prediction = torch.tensor([[0.9, 0.1, 0.0], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4], [0.1, 0.4, 0.5]])
    expected = [[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.1, 0.4, 0.5]]
    np.testing.assert_allclose(losses.estimate_transition(prediction, 0.0), expected, rtol=1e-6)


def test_the_estimate_passes_over_outliers() -> None:
    # 101 examples: the 97th percentile, rounded up, is the 98th smallest of f_0; it and those above are dropped.
    first = torch.linspace(0, 1, 101, dtype=torch.float64)
    prediction = torch.stack([first, 1 - first], 1)
    t = losses.estimate_transition(prediction, 0.03)
    np.testing.assert_allclose(t, [[0.96, 0.04], [0.04, 0.96]], atol=1e-9)
    order = torch.randperm(101, generator=torch.Generator().manual_seed(0))
    np.testing.assert_allclose(losses.estimate_transition(prediction[order], 0.03), t)


def test_the_estimate_of_equal_predictions_is_that_prediction() -> None:
    prediction = torch.tensor([[0.25, 0.75]]).repeat(7, 1)
    np.testing.assert_allclose(losses.estimate_transition(prediction, 0.03), [[0.25, 0.75]] * 2)


def test_rows_of_the_estimate_sum_to_one() -> None:
    prediction = torch.tensor([[0.5, 0.3], [0.1, 0.6]])
    np.testing.assert_allclose(losses.estimate_transition(prediction, 0.0), [[0.625, 0.375], [1 / 7, 6 / 7]], rtol=1e-6)


def test_of_a_rare_class_the_estimate_keeps_an_example_of_its_own() -> None:
    sure, rare = torch.tensor([[0.9, 0.08, 0.02]]), torch.tensor([[0.1, 0.1, 0.8]])
    prediction = torch.cat([sure.expand(98, -1), rare.expand(2, -1)]) + torch.linspace(0, 0.01, 100).unsqueeze(-1)
    t = losses.estimate_transition(prediction, 0.03, torch.tensor([98, 0, 2]))
    assert t.argmax(-1).tolist() == [0, 1, 2]
    assert t[2, 2] > 0.7


def test_a_class_without_labels_stays_what_it_is() -> None:
    prediction = torch.tensor([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.1, 0.9, 0.0]])
    for drop_top in (0.0, 0.03):
        t = losses.estimate_transition(prediction, drop_top, torch.tensor([2, 2, 0]))
        assert t[2].tolist() == [0, 0, 1]
