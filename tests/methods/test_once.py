"""Methods that train once: their loss with the options they have, and the options they refuse."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pencil import losses, methods
from pencil.errors import PencilError
from pencil.table import initial_label_logits

C = 4


def softmax(z: Any) -> Any:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_defaults_are_the_published_ones(batch: Any, cost: Any) -> None:
    f, hot = softmax(batch.logits.numpy()), batch.given.numpy()
    right = (f * hot).sum(-1)
    own = np.eye(C)[f.argmax(-1)]
    expected = {
        "lq": (1 - right**0.7) / 0.7,
        "mae": 2 * (1 - right),
        "mse": ((f - hot) ** 2).sum(-1),
        "bootstrap_soft": -((0.95 * hot + 0.05 * f) * np.log(f)).sum(-1),
        "bootstrap_hard": -((0.8 * hot + 0.2 * own) * np.log(f)).sum(-1),
        "cross_entropy": -np.log(right),
    }
    for name, wanted in expected.items():
        np.testing.assert_allclose(cost(methods.create(name, {}, C)), wanted, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("name", "options"),
    [("lq", {"q": 1e-9}), ("bootstrap_soft", {"given_share": 1}), ("bootstrap_hard", {"given_share": 1})],
)
def test_at_one_end_they_are_cross_entropy(name: str, options: Any, cost: Any) -> None:
    plain = cost(methods.create("cross_entropy", {}, C))
    np.testing.assert_allclose(cost(methods.create(name, options, C)), plain, rtol=1e-6)


@pytest.mark.parametrize("name", ["lq", "mae", "mse", "bootstrap_soft", "bootstrap_hard", "dldl", "cross_entropy"])
def test_examples_without_a_label_take_no_part(name: str, batch: Any) -> None:
    labelled = torch.tensor([True, False, True, True, False, True])
    terms = methods.create(name, {}, C).loss(replace(batch, labelled=labelled))
    assert terms.rows is not None and torch.equal(terms.rows, labelled)


def test_label_distributions_start_from_the_given_labels(batch: Any, cost: Any) -> None:
    f, y = softmax(batch.logits.numpy()), softmax(batch.label_logits.numpy())
    np.testing.assert_allclose(cost(methods.create("dldl", {}, C)), (y * np.log(y / f)).sum(-1))
    assert methods.create("dldl", {}, C).label_scale == 10
    assert methods.create("dldl", {"init_scale": 2.0}, C).label_scale == 2
    assert methods.create("dldl", {"init_scale": 0.0}, 100).label_scale == pytest.approx(10 + np.log(11))


def test_sharp_label_distributions_are_cross_entropy(batch: Any) -> None:
    sharp = replace(batch, label_logits=initial_label_logits(batch.given, 60.0))
    found = methods.create("dldl", {}, C).loss(sharp).parts["loss"]
    np.testing.assert_allclose(found, losses.cross_entropy(batch.logits, batch.given), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("lq", {"q": 0.0}, r"options\.q is 0; give a number from more than 0 to 1"),
        ("lq", {"q": 1.5}, r"options\.q is 1\.5"),
        ("lq", {"q": float("nan")}, r"options\.q is nan"),
        ("truncated_lq", {"q": -1.0}, r"options\.q is -1"),
        ("truncated_lq", {"threshold": 2.0}, r"options\.threshold is 2; give a number from 0 to 1"),
        ("truncated_lq", {"refresh_epochs": 0}, r"options\.refresh_epochs is 0; give at least 1"),
        ("bootstrap_soft", {"given_share": 0.0}, r"options\.given_share is 0"),
        ("bootstrap_hard", {"given_share": 1.1}, r"options\.given_share is 1\.1"),
        ("forward_estimated", {"drop_top": 0.9}, r"options\.drop_top is 0\.9"),
        ("joint_optimization", {"prior": "unifrom"}, r'options\.prior cannot be "unifrom"\. Did you mean "uniform"'),
        ("joint_optimization", {"average": 0}, r"options\.average is 0; give at least 1"),
        ("joint_optimization", {"prior_weight": -1.0}, r"options\.prior_weight is -1"),
        ("cnn_crf", {"annealing": 0.0}, r"options\.annealing is 0"),
        ("cnn_crf", {"auxiliary_end": 0.0}, r"options\.auxiliary_end is 0; give a number from more than 0 to"),
        ("dldl", {"init_scale": -5.0}, r"options\.init_scale is -5; give a number from 0 to"),
        ("dldl", {"init_scale": float("inf")}, r"options\.init_scale is inf"),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: Any, message: str) -> None:
    with pytest.raises(PencilError, match=message):
        methods.create(name, options, C)
