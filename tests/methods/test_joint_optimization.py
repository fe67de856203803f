"""Joint optimization: its loss in each phase, when labels move and to what, and the prior on request."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pencil import methods
from pencil.errors import PencilError
from pencil.methods import Known

C = 4


def softmax(z: Any) -> Any:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_the_loss_of_each_phase(batch: Any, cost: Any) -> None:
    f, y, hot = softmax(batch.logits.numpy()), softmax(batch.label_logits.numpy()), batch.given.numpy()
    entropy = -(f * np.log(f)).sum(-1)
    method = methods.create("joint_optimization", {"entropy_weight": 0.8}, C)
    np.testing.assert_allclose(cost(method, "backbone"), -(hot * np.log(f)).sum(-1) + 0.8 * entropy)
    np.testing.assert_allclose(cost(method, "labels"), -(y * np.log(f)).sum(-1) + 0.8 * entropy)
    np.testing.assert_allclose(cost(method, "final"), -(y * np.log(f)).sum(-1))
    for phase in ("backbone", "labels", "final"):
        assert method.loss(replace(batch, phase=phase)).whole_batch == {}, "no prior unless asked for"


def test_the_prior_term(batch: Any) -> None:
    mean = softmax(batch.logits.numpy()).mean(0)
    uniform = methods.create("joint_optimization", {"prior_weight": 1.2}, C).double()
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    clean = methods.create("joint_optimization", {"prior_weight": 1.2, "prior": "clean"}, C).double()
    clean.inform(Known(prior=torch.from_numpy(shares)))
    for method, prior in ((uniform, np.full(C, 1 / C)), (clean, shares)):
        for phase in ("backbone", "labels"):
            term = method.loss(replace(batch, phase=phase)).whole_batch["prior"]
            assert term.item() == pytest.approx(1.2 * (prior * np.log(prior / mean)).sum(), rel=1e-6)
        assert method.loss(replace(batch, phase="final")).whole_batch == {}
        assert method.extra_information, "who is told the prior is marked"
    assert not methods.create("joint_optimization", {}, C).extra_information


def test_a_prior_without_weight_is_refused() -> None:
    with pytest.raises(PencilError, match=r'options\.prior is "clean", but no prior is used; .*prior_weight'):
        methods.create("joint_optimization", {"prior": "clean"}, C)


def test_the_clean_prior_must_be_known() -> None:
    with pytest.raises(PencilError, match=r'options\.prior is "clean".*unknown; take "uniform"'):
        methods.create("joint_optimization", {"prior_weight": 1.0, "prior": "clean"}, C).inform(Known())


def test_labels_become_the_mean_of_the_last_predictions(digits: Any, planned: Any, engine_of: Any, train: Any) -> None:
    plan = planned(digits(), "joint_optimization", [2, 3, 1], data={"noise": "symmetric:0.3", "held_out": 0.0})
    engine = engine_of(plan)
    table = engine.state.table
    start = table.distributions().clone()
    seen: list[Any] = []

    def look() -> None:
        seen.append((table.distributions().clone(), table.columns["recent"][:, -1].clone()))

    train(engine, each=look)
    for epoch in range(2):
        assert torch.equal(seen[epoch][0], start), "labels stay in the first phase"
    for epoch in range(2, 5):
        mean = torch.stack([prediction for _, prediction in seen[: epoch + 1]]).mean(0)
        torch.testing.assert_close(seen[epoch][0], mean)
    assert torch.equal(seen[5][0], seen[4][0]), "the new network finds its labels ready"
    assert [phase.fresh_network for phase in plan.phases] == [False, False, True]


def test_only_so_many_epochs_are_averaged() -> None:
    rules = [
        phase.rule
        for phase in methods.create("joint_optimization", {"average": 7}, C).phases(
            {name: _setting() for name in ("backbone", "labels", "final")}
        )
    ]
    assert [(rule.last, rule.moving) for rule in rules[:2]] == [(7, False), (7, True)]
    assert not rules[2].moves


def test_no_room_is_kept_for_more_epochs_than_there_are() -> None:
    phases = methods.create("joint_optimization", {"average": 10**6}, C).phases(
        {name: _setting(epochs) for name, epochs in (("backbone", 8), ("labels", 7), ("final", 3))}
    )
    assert [getattr(phase.rule, "last", None) for phase in phases] == [15, 15, None]


def _setting(epochs: int = 1) -> Any:
    from pencil.config import PhaseSettings, Schedule

    return PhaseSettings(epochs=epochs, lr=Schedule.parse(0.1))
