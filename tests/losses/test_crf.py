"""The random field over true and given class, against the enumeration of all its states."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from pencil import losses

Vector = NDArray[np.float64]
B, C = 4, 3
RNG = np.random.default_rng(0)
UNARY, W = RNG.normal(size=(B, C)), RNG.normal(size=(C, C))
LABELS = np.array([0, 2, 1, 1])
GIVEN = np.eye(C)[LABELS]
AUX = RNG.dirichlet(np.ones(C), size=C).T
"""p_aux(y | ŷ): columns are given labels and sum to one."""


def enumerated() -> Vector:
    """p(y, ŷ | x) by one exponential for each state."""
    states = np.zeros((B, C, C))
    for b in range(B):
        for true in range(C):
            for given in range(C):
                states[b, true, given] = np.exp(UNARY[b, true] + W[true, given])
        states[b] /= states[b].sum()
    return states


def tensors(*values: Vector) -> tuple[torch.Tensor, ...]:
    return tuple(torch.tensor(value, dtype=torch.float64) for value in values)


def test_the_marginal() -> None:
    unary, w = tensors(UNARY, W)
    np.testing.assert_allclose(losses.crf_marginal(unary, w).exp(), enumerated().sum(-1), rtol=1e-12)


def test_rows_that_sum_to_one_leave_the_networks_own_prediction() -> None:
    unary, w = tensors(UNARY, W)
    found = losses.crf_marginal(unary, w.log_softmax(-1))
    np.testing.assert_allclose(found, unary.log_softmax(-1), atol=1e-12)


def test_the_joint_under_a_belief() -> None:
    joint, belief = enumerated(), RNG.dirichlet(np.ones(C), size=B)
    expected = [-sum(belief[b, y] * np.log(joint[b, y, LABELS[b]]) for y in range(C)) for b in range(B)]
    found = losses.crf_negative_log_joint(*tensors(UNARY, W, GIVEN, belief))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("kappa", [0.0, 0.5, 5.0, 1e9])
def test_the_belief_lies_between_the_field_and_the_clean_subset(kappa: float) -> None:
    joint = enumerated()
    expected = np.zeros((B, C))
    for b, label in enumerate(LABELS):
        posterior = joint[b, :, label] / joint[b, :, label].sum()
        mixed = np.exp((np.log(posterior) + kappa * np.log(AUX[:, label])) / (1 + kappa))
        expected[b] = mixed / mixed.sum()
    found = losses.crf_posterior(*tensors(UNARY, W, GIVEN, np.log(AUX)), torch.tensor(kappa, dtype=torch.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    if kappa == 1e9:
        np.testing.assert_allclose(found, AUX[:, LABELS].T, rtol=1e-6)


def test_the_gradients_of_network_and_field_agree_with_finite_differences() -> None:
    unary, w, given, belief = tensors(UNARY, W, GIVEN, RNG.dirichlet(np.ones(C), size=B))
    assert torch.autograd.gradcheck(
        lambda a, p: losses.crf_negative_log_joint(a, p, given, belief), (unary.requires_grad_(), w.requires_grad_())
    )
