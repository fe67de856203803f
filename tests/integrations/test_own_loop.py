"""LabelTable: the paper's losses and label step in a loop of one's own."""

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as distributed
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
    with pytest.raises(PencilError, match=r"the state lacks epoch; give what state_dict returned"):
        labels.load_state_dict({"given": torch.zeros(3)})
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
    for logits in (LOGITS[:, :2], torch.cat([LOGITS, LOGITS], 1), LOGITS[:, 0]):
        with pytest.raises(PencilError, match=r"logits have shape .*; give one row an example and 3 columns"):
            labels.loss(logits, INDEX)
    with pytest.raises(PencilError, match="each phase"):
        table(epochs=(1, 2))
    with pytest.raises(PencilError, match="0 to 2"):
        pencil.LabelTable([0, 1, 3], 3)
    with pytest.raises(PencilError, match="anchr"):
        table(options={"anchr": 1})


def separately(*batches: tuple[Tensor, Tensor], epoch: int = 1) -> Tensor:
    """What labels become where each batch has its own step."""
    labels = table()
    labels.start_epoch(epoch)
    for logits, index in batches:
        labels.loss(logits, index)
        labels.step(index)
    return labels.table.columns["label_logits"]


def leaf(logits: Tensor) -> Tensor:
    return logits.clone().requires_grad_(True)


OTHER, OTHER_LOGITS = torch.tensor([0, 5]), torch.tensor([[0.1, 2.0, 0.3], [1.5, 0.2, -0.4]])


@pytest.mark.parametrize("index", [None, OTHER, torch.cat([INDEX, OTHER])], ids=["none", "the last", "together"])
@pytest.mark.parametrize("at_once", [False, True])
def test_one_step_moves_the_labels_of_all_accumulated_batches(index: Tensor | None, at_once: bool) -> None:
    labels = table()
    labels.start_epoch(1)
    first = labels.loss(leaf(LOGITS), INDEX) / 2
    if not at_once:
        first.backward()
    second = labels.loss(leaf(OTHER_LOGITS), OTHER) / 2
    (first + second if at_once else second).backward()
    labels.step(index)
    expected = separately((LOGITS, INDEX), (OTHER_LOGITS, OTHER))
    assert torch.equal(labels.table.columns["label_logits"], expected)
    assert not labels.is_asked
    assert labels.table.columns["predictions"].tolist() == [1, 1, 1, 0, 1, 1]


def test_accumulated_batches_may_be_stepped_one_by_one() -> None:
    labels = table()
    labels.start_epoch(1)
    labels.loss(leaf(LOGITS), INDEX).backward()
    labels.loss(leaf(OTHER_LOGITS), OTHER).backward()
    labels.step(INDEX)
    assert torch.equal(labels.table.columns["label_logits"], separately((LOGITS, INDEX)))
    labels.step(OTHER)
    assert torch.equal(labels.table.columns["label_logits"], separately((LOGITS, INDEX), (OTHER_LOGITS, OTHER)))
    with pytest.raises(PencilError, match="same batch"):
        labels.step(OTHER)


def test_an_example_in_two_accumulated_batches_moves_twice() -> None:
    labels = table()
    labels.start_epoch(1)
    for logits in (LOGITS, LOGITS):
        labels.loss(leaf(logits), INDEX).backward()
    before = labels.table.columns["label_logits"].clone()
    labels.step()
    # Both gradients were taken at the same labels.
    once = separately((LOGITS, INDEX)) - before
    torch.testing.assert_close(labels.table.columns["label_logits"], before + 2 * once)
    assert labels.table.columns["predictions"][INDEX].tolist() == [2, 2, 2]


def test_losses_of_ones_own_accumulate_too() -> None:
    labels = table()
    labels.start_epoch(1)
    for logits, index in ((LOGITS, INDEX), (OTHER_LOGITS, OTHER)):
        whole_loss(logits, labels.labels(index), one_hot(GIVEN[index], 3).float()).mean().backward()
    labels.step(OTHER)
    expected = separately((LOGITS, INDEX), (OTHER_LOGITS, OTHER))
    torch.testing.assert_close(labels.table.columns["label_logits"], expected)


def test_accumulated_batches_are_shared_among_processes(tmp_path: Path) -> None:
    labels = table()
    labels.start_epoch(1)
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    try:
        # The second batch has an example of the first: what is shared must be where both moved it.
        for logits, index in ((LOGITS, INDEX), (OTHER_LOGITS, INDEX[1:])):
            labels.loss(leaf(logits), index).backward()
        labels.step()
    finally:
        distributed.destroy_process_group()
    alone = table()
    alone.start_epoch(1)
    for logits, index in ((LOGITS, INDEX), (OTHER_LOGITS, INDEX[1:])):
        alone.loss(leaf(logits), index).backward()
    alone.step()
    assert all(torch.equal(labels.table.columns[name], column) for name, column in alone.table.columns.items())


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_a_loss_that_is_only_looked_at_moves_nothing(before: bool, named: bool) -> None:
    labels = table()
    labels.start_epoch(1)
    if before:
        labels.loss(leaf(OTHER_LOGITS), OTHER)
    labels.loss(leaf(LOGITS), INDEX).backward()
    if not before:
        labels.loss(leaf(OTHER_LOGITS), OTHER)
    labels.step(INDEX if named else None)
    assert torch.equal(labels.table.columns["label_logits"], separately((LOGITS, INDEX)))
    assert not labels.is_asked


def test_losses_that_are_only_looked_at_are_not_kept() -> None:
    labels = table()
    labels.start_epoch(1)
    kept = [weakref.ref(labels._asked.last) for _ in range(3) if labels.loss(leaf(LOGITS), INDEX) is not None]
    assert [each() is not None for each in kept] == [False, False, True]


def test_a_batch_left_over_from_an_epoch_moves_by_the_step_of_that_epoch() -> None:
    labels = table()
    labels.start_epoch(1)
    labels.loss(leaf(LOGITS), INDEX).backward()
    labels.start_epoch(3)
    labels.loss(leaf(OTHER_LOGITS), OTHER).backward()
    labels.step()
    assert torch.equal(labels.table.columns["label_logits"], separately((LOGITS, INDEX)))


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (torch.tensor([True, False, True]), r"type torch\.bool; give whole numbers"),
        (torch.tensor([0.0, 1.0, 2.0]), r"type torch\.float32; give whole numbers"),
        (torch.tensor([0, 1, 6]), "index holds 6; the examples of this table are 0 to 5"),
        (torch.tensor([0, -1, 2]), "index holds -1; the examples of this table are 0 to 5"),
    ],
)
def test_an_index_is_made_of_positions(index: Tensor, message: str) -> None:
    labels = table()
    labels.start_epoch(1)
    for asking in (lambda: labels.loss(LOGITS, index), lambda: labels.labels(index), lambda: labels.step(index)):
        with pytest.raises(PencilError, match=message):
            asking()


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64", "int16"])
def test_an_index_may_be_of_any_whole_type(kind: str) -> None:
    labels, index = table(), INDEX.numpy().astype(kind)
    labels.start_epoch(1)
    labels.loss(leaf(LOGITS), index).backward()
    labels.step(torch.from_numpy(index))
    assert torch.equal(labels.table.columns["label_logits"], separately((LOGITS, INDEX)))
    with pytest.raises(PencilError, match="index holds 6; the examples of this table are 0 to 5"):
        labels.loss(LOGITS, np.array([0, 1, 6], dtype=kind))


@pytest.mark.parametrize(
    "options", [{"settle": True}, {"by_clean_probability": True, "by_class_shares": True}, {"from_best": True}]
)
def test_what_only_the_engine_carries_out_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PencilError, match=rf"options\.{next(iter(options))} is carried out by pencil\.fit"):
        table(options=options)
    off = table(options=dict.fromkeys(options, False))
    assert torch.equal(off.distributions, table(options={}).distributions)


def test_one_spelling_of_the_users_own_replaces_the_usual_one() -> None:
    assert pencil.LabelTable(GIVEN, 3, options={"compatibility_weight": 0.1}).method.anchor == pytest.approx(0.3)
    labels = pencil.LabelTable(GIVEN, 3, epochs=(0, 1, 0), options={"label_lr": "600"})
    assert labels.eta == pytest.approx(600 / (128 * 3))
    with pytest.raises(PencilError, match="two spellings"):
        table(options={"compatibility_weight": 0.1, "anchor": 0.3})
    with pytest.raises(PencilError, match="give the label step once"):
        table(options={"label_lr": "600"})


@pytest.mark.parametrize("num_classes", [1, 0, 3.0, "3", None])
def test_there_are_at_least_two_classes(num_classes: Any) -> None:
    with pytest.raises(PencilError, match=r"num_classes is .*; give a whole number, at least 2"):
        pencil.LabelTable([0, 0], num_classes)
    assert pencil.LabelTable([0, 0], np.int64(2)).corrected.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("wrong", "line"),
    [({"device": "meta"}, "no meta device; use device cpu"), ({"options": "code"}, "options is 'code'; give a dict")],
)
def test_a_device_and_options_that_are_none_are_refused(wrong: dict[str, Any], line: str) -> None:
    with pytest.raises(PencilError, match=line):
        pencil.LabelTable(GIVEN, 3, **wrong)


@pytest.mark.parametrize("epochs", [10, (1, 2.5, 1), "123", (1, -2, 1), ()])
def test_epochs_are_whole_numbers_one_for_each_phase(epochs: Any) -> None:
    with pytest.raises(PencilError, match=r"epochs is .*; give a whole number, 0 or more, for each phase: backbone"):
        table(epochs=epochs)
    assert table(epochs=np.array([1, 2, 1])).num_epochs == 4


@pytest.mark.parametrize("epochs", [(0, 3, 0), (1, 4, 1), (2, 12, 2)])
def test_labels_flip_in_as_many_epochs_as_there_are(epochs: tuple[int, int, int]) -> None:
    labels, sure = pencil.LabelTable(GIVEN, 3, epochs=epochs), 9.0 * one_hot((GIVEN + 1) % 3, 3)
    for epoch in range(labels.num_epochs):
        labels.start_epoch(epoch)
        logits = sure.clone().requires_grad_()
        labels.loss(logits, torch.arange(6)).backward()
        labels.step(torch.arange(6))
    assert labels.corrected.tolist() == ((GIVEN + 1) % 3).tolist()
