"""The paper's equations against NumPy, their gradients against the derivations, and where labels come to rest.

Notation: f the prediction, y the label distribution, g = softmax(y) − ŷ, a = α·c.
"""

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
LOGITS = arrays(np.float64, (3, 5), elements=st.floats(-30, 30))


def softmax(z: Vector) -> Vector:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def tensor(values: Vector) -> Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def gradient(loss_B: Tensor, wrt: Tensor) -> Vector:
    return torch.autograd.grad(loss_B.sum(), wrt)[0].numpy()


def one_hot(k: int, c: int) -> Vector:
    return np.eye(c)[k]


@given(LOGITS, LOGITS, st.lists(st.integers(0, 4), min_size=3, max_size=3))
def test_values_are_the_printed_sums(z: Vector, y_logits: Vector, labels: list[int]) -> None:
    f, y, given_ = softmax(z), softmax(y_logits), np.eye(5)[labels]
    expected = {
        "cross_entropy": -(given_ * np.log(f)).sum(-1),
        "classification": (f * np.log(f / y)).sum(-1),
        "classic_kl": (y * np.log(y / f)).sum(-1),
        "compatibility_paper": -(given_ * np.log(y)).sum(-1),
        "compatibility_code": -(given_ * np.log(softmax(y))).sum(-1),
        "entropy": -(f * np.log(f)).sum(-1),
    }
    zt, yt, gt = (torch.from_numpy(v) for v in (z, y_logits, given_))
    values = {
        "cross_entropy": losses.cross_entropy(zt, gt),
        "classification": losses.classification(zt, yt),
        "classic_kl": losses.classic_kl(zt, yt),
        "compatibility_paper": losses.compatibility_paper(yt, gt),
        "compatibility_code": losses.compatibility_code(yt, gt),
        "entropy": losses.entropy(zt),
    }
    for name, value in values.items():
        np.testing.assert_allclose(value.numpy(), expected[name], rtol=1e-9, atol=1e-9, err_msg=name)


@given(LOGITS, LOGITS)
def test_the_classification_loss_pulls_labels_by_y_minus_f(z: Vector, y_logits: Vector) -> None:
    y = tensor(y_logits)
    pull = gradient(losses.classification(torch.from_numpy(z), y), y)
    np.testing.assert_allclose(pull, softmax(y_logits) - softmax(z), atol=1e-12)
    assert np.abs(pull).max() <= 1 + 1e-12


def test_in_the_papers_units_that_is_divided_by_batch_and_classes() -> None:
    rng = np.random.default_rng(0)
    z, y_logits = rng.normal(size=(2, 7, 10))
    y = tensor(y_logits)
    # The paper's L_c is averaged over examples and multiplied by 1/c in the whole loss.
    pull = torch.autograd.grad(losses.classification(torch.from_numpy(z), y).mean() / 10, y)[0].numpy()
    np.testing.assert_allclose(pull, (softmax(y_logits) - softmax(z)) / (7 * 10), atol=1e-15)


@given(LOGITS, st.lists(st.integers(0, 4), min_size=3, max_size=3))
def test_the_pull_of_both_compatibility_forms(y_logits: Vector, labels: list[int]) -> None:
    y, given_ = softmax(y_logits), np.eye(5)[labels]
    logits = tensor(y_logits)
    paper = gradient(losses.compatibility_paper(logits, torch.from_numpy(given_)), logits)
    np.testing.assert_allclose(paper, y - given_, atol=1e-12)
    code = gradient(losses.compatibility_code(logits, torch.from_numpy(given_)), logits)
    g = softmax(y) - given_
    np.testing.assert_allclose(code, y * (g - (y * g).sum(-1, keepdims=True)), atol=1e-12)


def test_gradients_of_the_network_agree_with_finite_differences() -> None:
    rng = np.random.default_rng(1)
    z, y_logits = rng.normal(size=(3, 5)), torch.from_numpy(rng.normal(size=(3, 5)))
    for loss in (
        losses.entropy,
        lambda t: losses.classification(t, y_logits),
        lambda t: losses.classic_kl(t, y_logits),
    ):
        assert torch.autograd.gradcheck(loss, tensor(z))


def test_the_entropy_term_sharpens_the_optimum() -> None:
    # KL(f ‖ y) + β·H(f) is least at f = softmax(ỹ/(1 − β)).
    y_logits, beta = torch.tensor([[1.0, 0.3, -2.0, 0.0]], dtype=torch.float64), 0.4
    best = (y_logits / (1 - beta)).requires_grad_()
    loss = losses.classification(best, y_logits) + beta * losses.entropy(best)
    assert gradient(loss, best) == pytest.approx(np.zeros((1, 4)), abs=1e-14)


def label_loss(form: str, y_logits: Tensor, f: Vector, given_: Vector, a: Vector) -> Tensor:
    pull = {"paper": losses.compatibility_paper, "code": losses.compatibility_code}[form]
    f_logits, given_t = torch.from_numpy(np.log(np.atleast_2d(f))), torch.from_numpy(np.atleast_2d(given_))
    return losses.classification(f_logits, y_logits) + torch.from_numpy(np.asarray(a)) * pull(y_logits, given_t)


RNG = np.random.default_rng(5)
PULLS = RNG.uniform(0.05, 1.5, size=100)
BELIEFS, LABELS = softmax(RNG.normal(size=(100, 6))), np.eye(6)[RNG.integers(6, size=100)]


def test_fixed_point_of_the_paper_form() -> None:
    a = PULLS[:, None]
    rest = tensor(np.log((BELIEFS + a * LABELS) / (1 + a)))
    assert np.abs(gradient(label_loss("paper", rest, BELIEFS, LABELS, PULLS), rest)).max() < 1e-12


def test_fixed_point_of_the_code_form() -> None:
    a, f = PULLS[:, None], BELIEFS

    def condition(y: Vector) -> Vector:
        g = softmax(y) - LABELS
        return y - f + a * y * (g - (y * g).sum(-1, keepdims=True))

    # Moving logits against the condition is an iteration of its own; it keeps y a distribution.
    logits = np.log(f)
    for _ in range(3000):
        logits = logits - 2 * condition(softmax(logits))
    y = softmax(logits)
    assert np.abs(condition(y)).max() < 1e-12
    assert np.abs(y - f).max() > 0.1, "the pull matters in these cases"
    rest = tensor(np.log(y))
    assert np.abs(gradient(label_loss("code", rest, f, LABELS, PULLS), rest)).max() < 1e-12


def settle(form: str, f: Vector, given_: Vector, a: Vector, steps: int = 500, eta: float = 1.8) -> Vector:
    """Run plain label steps from ỹ = 10·ŷ on the project's loss and predictions that never change."""
    logits = tensor(10 * given_)
    for _ in range(steps):
        loss = label_loss(form, logits, f, given_, a)
        logits = (logits - eta * torch.autograd.grad(loss.sum(), logits)[0]).detach().requires_grad_()
    return softmax(logits.detach().numpy())


def test_what_a_contradicted_class_keeps_with_ten_classes_and_the_papers_alpha() -> None:
    f = np.full((1, 10), 1e-9)
    f[0, 7] = 1 - 9e-9
    given_, a = one_hot(3, 10), 10 * 0.1
    assert settle("paper", f, given_[None], np.array([a]))[0, [3, 7]] == pytest.approx([0.5, 0.5], abs=5e-3)
    # All mass is on two classes, so the condition is one equation in p = y_ŷ, solved by bisection.
    left, right = 1e-6, 0.4
    for _ in range(60):
        p = (left + right) / 2
        y = np.zeros(10)
        y[3], y[7] = p, 1 - p
        g = softmax(y) - given_
        left, right = (p, right) if p + a * p * (g[3] - y @ g) < 0 else (left, p)
    assert p == pytest.approx(0.10, abs=0.01)
    # The eight other classes leave only as 1/steps, so not all of their mass is gone yet.
    assert settle("code", f, given_[None], np.array([a]))[0, 3] == pytest.approx(p, abs=8e-3)


@pytest.mark.parametrize(("form", "bound"), [("paper", 1.0), ("code", 2.0)])
def test_a_label_flips_exactly_below_its_bound(form: str, bound: float) -> None:
    # m = f_1 − f_0 is how much more the network believes class 1 than the given class 0.
    m = np.repeat([0.2, 0.5, 0.9], 2)
    factor = np.tile([0.9, 1.1], 3)
    f = np.stack([(1 - m) / 2, (1 + m) / 2, np.zeros(6), np.zeros(6)], 1) + 1e-12
    y = settle(form, f, np.tile(one_hot(0, 4), (6, 1)), a=factor * bound * m)
    assert (y.argmax(-1) == 1).tolist() == (factor < 1).tolist(), y


def test_missing_labels_cost_and_pull_nothing() -> None:
    logits = tensor(np.random.default_rng(0).normal(size=(2, 4)))
    none = torch.zeros(2, 4, dtype=torch.float64)
    for loss in (losses.cross_entropy, losses.compatibility_paper, losses.compatibility_code):
        value = loss(logits, none)
        assert (value == 0).all() and (gradient(value, logits) == 0).all()


@pytest.mark.parametrize("extreme", [1e3, 1e6, 1e30])
def test_extreme_confidence_stays_finite(extreme: float) -> None:
    z = torch.tensor([[extreme, 0.0, -extreme]], requires_grad=True)
    y = torch.tensor([[0.0, 1e3, -1e3]], requires_grad=True)
    total = losses.classification(z, y) + losses.entropy(z) + losses.compatibility_code(y, torch.eye(3)[:1])
    total.sum().backward()
    assert all(t is not None and t.isfinite().all() for t in (total, z.grad, y.grad))
