"""LabelTable: the paper's losses and label step in a loop of one's own."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot, softmax

import pencil
from pencil import losses
from pencil.errors import PencilError

GIVEN = torch.tensor([0, 1, 2, 1, 0, 2])
INDEX = torch.tensor([4, 1, 2])
LOGITS = torch.tensor([[0.2, 3.0, -1.0], [2.0, 0.5, 0.1], [0.0, 0.3, 1.0]])
ETA, ANCHOR, BETA = 0.5, 0.7, 0.3


def table(**more: Any) -> pencil.LabelTable:
    options = {"anchor": ANCHOR, "entropy_weight": BETA, "init_scale": 10.0}
    return pencil.LabelTable(GIVEN, 3, **{"epochs": (1, 2, 1), "label_step": f"{ETA} -> 0", "options": options} | more)


def whole_loss(logits: Tensor, labels: Tensor, given: Tensor) -> Tensor:
    """KL + a·L_o + β·H of each example, written out."""
    f, y = softmax(logits, -1), softmax(labels, -1)
    pull = -(given * softmax(y, -1).log()).sum(-1)
    return (f * (f / y).log()).sum(-1) + ANCHOR * pull - BETA * (f * f.log()).sum(-1)


def test_each_phase_has_the_papers_loss() -> None:
    labels, hot = table(), one_hot(GIVEN[INDEX], 3).float()
    start = 10 * hot
    expected = [
        losses.cross_entropy(LOGITS, hot),
        whole_loss(LOGITS, start, hot),
        whole_loss(LOGITS, start, hot),
        losses.classification(LOGITS, start),
    ]
    assert labels.num_epochs == 4
    for epoch, each in enumerate(expected):
        labels.start_epoch(epoch)
        assert labels.loss(LOGITS, INDEX).item() == pytest.approx(each.mean().item(), rel=1e-5)
    labels.start_epoch(9)
    assert labels.phase.name == "tuning"


@pytest.mark.parametrize("scale", [1.0, 1024.0])
def test_a_step_moves_the_labels_of_the_batch_by_eta_times_their_own_gradient(scale: float) -> None:
    labels = table()
    labels.start_epoch(2)
    assert labels.eta == pytest.approx(ETA / 2), "half way through the label phase"
    before = labels.table.columns["label_logits"].clone()
    leaf = before[INDEX].clone().requires_grad_(True)
    whole_loss(LOGITS, leaf, one_hot(GIVEN[INDEX], 3).float()).sum().backward()
    assert leaf.grad is not None
    logits = LOGITS.clone().requires_grad_(True)
    (scale * labels.loss(logits, INDEX)).backward()
    assert logits.grad is not None
    labels.step(INDEX)
    expected = before.clone()
    expected[INDEX] -= ETA / 2 * leaf.grad
    torch.testing.assert_close(labels.table.columns["label_logits"], expected)


def test_a_loss_of_ones_own_moves_labels_alike() -> None:
    ours, theirs = table(), table()
    for one in (ours, theirs):
        one.start_epoch(1)
    ours.loss(LOGITS, INDEX)
    ours.step(INDEX)
    own = theirs.labels(INDEX)
    assert own.requires_grad
    whole_loss(LOGITS, own, one_hot(GIVEN[INDEX], 3).float()).mean().backward()
    theirs.step(INDEX)
    torch.testing.assert_close(theirs.distributions, ours.distributions)


@pytest.mark.parametrize("epoch", [0, 3])
def test_labels_stand_still_outside_their_phase(epoch: int) -> None:
    labels = table()
    before = labels.distributions
    labels.start_epoch(epoch)
    labels.loss(LOGITS, INDEX)
    labels.step(INDEX)
    assert torch.equal(labels.distributions, before)


def test_numbers_that_are_not_finite_move_nothing() -> None:
    labels = table()
    labels.start_epoch(1)
    before = labels.distributions
    logits = LOGITS.clone()
    logits[0, 0] = torch.nan
    assert labels.loss(logits, INDEX).isfinite()
    labels.step(INDEX)
    still = (labels.distributions == before).all(-1)
    assert still.tolist() == [True, False, False, True, True, True]


def test_soft_and_missing_labels() -> None:
    soft = np.array([[0.5, 0.3, 0.2], [0, 0, 0], [0, 1, 0]], dtype=np.float32)
    labels = pencil.LabelTable(soft, 3)
    np.testing.assert_allclose(labels.distributions[0], soft[0], atol=1e-4)
    np.testing.assert_allclose(labels.distributions[1], 1 / 3, atol=1e-6)
    assert labels.corrected.tolist()[::2] == [0, 1]
    assert np.isnan(labels.quality).tolist() == [False, True, False]


def test_a_saved_state_goes_on_where_it_was() -> None:
    first, again = table(), table()
    first.start_epoch(1)
    first.loss(LOGITS, INDEX)
    first.step(INDEX)
    state = first.state_dict()
    again.load_state_dict(state)
    for one in (first, again):
        one.loss(LOGITS.flip(0), INDEX)
        one.step(INDEX)
    assert (again.epoch, again.phase.name, again.eta) == (1, "labels", ETA)
    assert torch.equal(again.distributions, first.distributions)
    assert np.array_equal(again.quality, first.quality)
    assert not torch.equal(state["label_logits"], first.table.columns["label_logits"]), "a state is a copy"


def test_mistakes_are_named() -> None:
    labels = table()
    with pytest.raises(PencilError, match=r"needs a call of loss"):
        labels.step(INDEX)
    labels.loss(LOGITS, INDEX)
    with pytest.raises(PencilError, match="same batch"):
        labels.step(INDEX.flip(0))
    labels.labels(INDEX)
    with pytest.raises(PencilError, match="backward"):
        labels.step(INDEX)
    with pytest.raises(PencilError, match="3 examples"):
        labels.loss(LOGITS, INDEX[:2])
    with pytest.raises(PencilError, match="each phase"):
        table(epochs=(1, 2))
    with pytest.raises(PencilError, match="0 to 2"):
        pencil.LabelTable([0, 1, 3], 3)
    with pytest.raises(PencilError, match="anchr"):
        table(options={"anchr": 1})
