"""CNN-CRF: what it needs, what it measures on the clean subset, and the steps of its EM."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pencil import losses, methods
from pencil.errors import PencilError
from pencil.methods import Known

C = 4
TRUSTED = np.arange(200) % 4 == 0


def test_it_needs_a_clean_subset() -> None:
    with pytest.raises(PencilError, match=r"needs a clean subset.*data has none.*settings=.*trusted"):
        methods.create("cnn_crf", {}, C).inform(Known())
    methods.create("cnn_crf", {}, C).inform(Known(num_trusted=1))


def test_the_loss_of_both_phases(batch: Any, cost: Any) -> None:
    method = methods.create("cnn_crf", {}, C).double()
    rng = np.random.default_rng(3)
    w, aux = rng.normal(size=(C, C)), rng.dirichlet(np.ones(C), size=C)
    with torch.no_grad():
        method.pairwise.copy_(torch.from_numpy(w))
        method.log_auxiliary.copy_(torch.from_numpy(np.log(aux)))
        method.auxiliary_weight.fill_(3.0)
    f = np.exp(batch.logits.log_softmax(-1).numpy())
    labels, trusted = batch.given.argmax(-1).numpy(), batch.trusted.numpy()
    pairwise = np.exp(w) / np.exp(w).sum(-1, keepdims=True)
    expected = np.zeros(len(f))
    for b, label in enumerate(labels):
        joint = f[b] * pairwise[:, label]
        belief = ((joint / joint.sum()) * aux[:, label] ** 3) ** (1 / 4)
        belief /= belief.sum()
        expected[b] = -np.log(f[b, label]) if trusted[b] else -(belief * np.log(joint)).sum()
    np.testing.assert_allclose(cost(method, "field").detach(), expected, rtol=1e-6)
    np.testing.assert_allclose(cost(method, "noisy").detach(), -np.log(f[np.arange(len(f)), labels]), rtol=1e-9)


def test_the_belief_is_a_target_and_no_path_for_gradients(batch: Any) -> None:
    method = methods.create("cnn_crf", {}, C).double()
    one = replace(batch, phase="field", logits=batch.logits.clone().requires_grad_(), trusted=None)
    method.loss(one).parts["field"].sum().backward()
    zeros = torch.zeros(C, C, dtype=torch.float64)
    belief = losses.crf_posterior(batch.logits, zeros, batch.given, zeros, torch.tensor(40.0))
    # Of −Σ q log f the gradient is f − q.
    torch.testing.assert_close(one.logits.grad, batch.logits.softmax(-1) - belief)
    assert method.pairwise.grad is not None and method.pairwise.grad.abs().max() > 0


@pytest.fixture
def engine(digits: Any, planned: Any, engine_of: Any) -> Any:
    plan = planned(digits(trusted=TRUSTED), "cnn_crf", [2, 4], data={"noise": "symmetric:0.4", "held_out": 0.0},
                   options={"annealing": 0.5})  # fmt: skip
    return engine_of(plan)


def test_the_noise_is_measured_on_labels_the_network_has_not_learned(engine: Any, train: Any) -> None:
    method, columns = engine.state.method, engine.state.table.columns
    seen: list[Any] = []

    def look() -> None:
        prediction = engine.train_evaluator.logits(engine.state.model).softmax(-1)
        seen.append(
            (columns["weight"].clone(), prediction, float(method.auxiliary_weight), method.log_auxiliary.clone())
        )

    train(engine, each=look)
    trusted = torch.from_numpy(TRUSTED)
    for epoch, (weight, *_) in enumerate(seen):
        assert weight[trusted].eq(0 if epoch < 2 else 1).all() and weight[~trusted].eq(1).all()
    counts = np.full((10, 10), 0.01) + 0.9 * np.eye(10)
    for label, row in zip(columns["given"][trusted].numpy(), seen[1][1][trusted].numpy(), strict=True):
        counts[label] += row
    np.testing.assert_allclose(seen[2][3].exp(), counts / counts.sum(0), rtol=1e-4)
    # κ falls from 40 to 5 over half of the four epochs.
    assert [kappa for _, _, kappa, _ in seen[2:]] == pytest.approx([40, 200**0.5, 5, 5])


def test_the_field_is_trained_with_the_network(engine: Any, train: Any) -> None:
    method = engine.state.method
    before: list[Any] = []

    train(engine, each=lambda: before.append(method.pairwise.detach().clone()))
    assert before[1].eq(0).all(), "untouched while the noisy labels are learned"
    assert not torch.equal(before[2], before[5])
    position = [id(p) for p in engine.state.optimizer.param_groups[0]["params"]].index(id(method.pairwise))
    saved = engine.state.export()
    assert saved[f"optimizer.{position}.momentum_buffer"].any() and "method.pairwise" in saved
