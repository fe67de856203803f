"""Robust losses against NumPy, and the limits in which they become each other."""

from collections.abc import Callable

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
LOGITS = arrays(np.float64, (3, 5), elements=st.floats(-20, 20))
LABELS = st.lists(st.integers(0, 4), min_size=3, max_size=3)
SHARES = st.floats(0.01, 1)


def softmax(z: Vector) -> Vector:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def value(loss: Callable[..., Tensor], z: Vector, target: Vector, *more: float) -> Vector:
    return loss(torch.from_numpy(z), torch.from_numpy(target), *more).numpy()


def gradient(loss: Callable[..., Tensor], z: Vector, target: Vector, *more: float) -> Vector:
    logits = torch.tensor(z, requires_grad=True)
    return torch.autograd.grad(loss(logits, torch.from_numpy(target), *more).sum(), logits)[0].numpy()


@given(LOGITS, LABELS, SHARES)
def test_values_of_plain_labels(z: Vector, labels: list[int], share: float) -> None:
    f, hot = softmax(z), np.eye(5)[labels]
    right = f[np.arange(3), labels]
    own = np.eye(5)[f.argmax(-1)]
    expected = {
        "generalized_cross_entropy": (1 - right**share) / share,
        "bootstrap_soft": -((share * hot + (1 - share) * f) * np.log(f)).sum(-1),
        "bootstrap_hard": -((share * hot + (1 - share) * own) * np.log(f)).sum(-1),
    }
    for name, wanted in expected.items():
        np.testing.assert_allclose(value(getattr(losses, name), z, hot, share), wanted, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(value(losses.mean_absolute_error, z, hot), 2 * (1 - right), atol=1e-12)
    squares = [sum((f[i, j] - hot[i, j]) ** 2 for j in range(5)) for i in range(3)]
    np.testing.assert_allclose(value(losses.mean_squared_error, z, hot), squares, atol=1e-12)


@given(LOGITS, LABELS)
def test_lq_is_cross_entropy_at_one_end_and_half_the_absolute_error_at_the_other(z: Vector, labels: list[int]) -> None:
    hot = np.eye(5)[labels]
    for compare in (value, gradient):
        near_zero = compare(losses.generalized_cross_entropy, z, hot, 1e-9)
        np.testing.assert_allclose(near_zero, compare(losses.cross_entropy, z, hot), rtol=1e-6, atol=1e-9)
        at_one = compare(losses.generalized_cross_entropy, z, hot, 1.0)
        np.testing.assert_allclose(at_one, compare(losses.mean_absolute_error, z, hot) / 2, atol=1e-12)


@given(LOGITS, LABELS)
def test_bootstrapping_with_the_given_label_alone_is_cross_entropy(z: Vector, labels: list[int]) -> None:
    hot = np.eye(5)[labels]
    for loss in (losses.bootstrap_soft, losses.bootstrap_hard):
        np.testing.assert_allclose(value(loss, z, hot, 1.0), value(losses.cross_entropy, z, hot), atol=1e-12)
        np.testing.assert_allclose(gradient(loss, z, hot, 1.0), gradient(losses.cross_entropy, z, hot), atol=1e-12)


def test_soft_bootstrapping_differentiates_its_own_prediction_and_hard_does_not() -> None:
    z, hot = np.random.default_rng(0).normal(size=(4, 5)), np.eye(5)[[0, 1, 2, 3]]
    f = softmax(z)
    entropy = -(f * np.log(f)).sum(-1, keepdims=True)
    # ∂H/∂z_k = −f_k (log f_k + H).
    soft = 0.7 * (f - hot) + 0.3 * -f * (np.log(f) + entropy)
    np.testing.assert_allclose(gradient(losses.bootstrap_soft, z, hot, 0.7), soft, atol=1e-12)
    target = 0.7 * hot + 0.3 * np.eye(5)[f.argmax(-1)]
    np.testing.assert_allclose(gradient(losses.bootstrap_hard, z, hot, 0.7), f - target, atol=1e-12)


def test_soft_labels() -> None:
    rng = np.random.default_rng(1)
    z, soft = rng.normal(size=(4, 5)), rng.dirichlet(np.ones(5), size=4)
    f = softmax(z)
    lq = (soft * (1 - f**0.7) / 0.7).sum(-1)
    np.testing.assert_allclose(value(losses.generalized_cross_entropy, z, soft, 0.7), lq, atol=1e-12)
    np.testing.assert_allclose(value(losses.mean_absolute_error, z, soft), np.abs(f - soft).sum(-1), atol=1e-12)
    assert value(losses.mean_squared_error, np.log(soft), soft) == pytest.approx(np.zeros(4), abs=1e-15)


def test_truncation_keeps_what_the_network_finds_likely() -> None:
    prediction = torch.tensor([[0.5, 0.5, 0.0], [0.51, 0.49, 0.0], [0.2, 0.7, 0.1], [0.0, 0.0, 1.0]])
    given_ = torch.eye(3)[[0, 0, 0, 2]]
    assert losses.truncation(prediction, given_, 0.5).tolist() == [0, 1, 0, 1], "f_ŷ ≤ k is left out"
    assert losses.truncation(prediction, given_, 0.0).tolist() == [1, 1, 1, 1], "k = 0 is plain L_q"
    assert losses.truncation(prediction, given_, 1.0).tolist() == [0, 0, 0, 0]


def test_the_prior_term_is_the_divergence_from_the_mean_prediction() -> None:
    rng = np.random.default_rng(2)
    z, prior = rng.normal(size=(6, 4)), rng.dirichlet(np.ones(4))
    mean = softmax(z).mean(0)
    found = losses.prior_divergence(torch.from_numpy(z), torch.from_numpy(prior))
    assert found.item() == pytest.approx((prior * np.log(prior / mean)).sum())
    matching = losses.prior_divergence(torch.from_numpy(z), torch.from_numpy(mean))
    assert matching.item() == pytest.approx(0, abs=1e-12)


def test_the_prior_term_is_finite_where_a_class_has_no_share_or_is_never_predicted() -> None:
    logits = torch.tensor([[1000.0, 0.0, 0.0]], requires_grad=True)
    found = losses.prior_divergence(logits, torch.tensor([0.5, 0.5, 0.0]))
    found.backward()
    assert found.isfinite() and logits.grad is not None and logits.grad.isfinite().all()
