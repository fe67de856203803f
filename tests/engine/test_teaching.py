"""Averaged weights, mixed and distorted examples: what the step makes of them."""

from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest
import torch
from torch import nn

import pencil
from pencil.config import override
from pencil.data import Dataset, from_arrays
from pencil.data.transforms.distort import distort
from pencil.data.transforms.leave_out import leave_out
from pencil.engine import Engine, Listener, Stopped
from pencil.engine.average import Average
from pencil.engine.by_heart import learned_by_heart
from pencil.engine.distortion import DISTORTIONS, reason_to_distort
from pencil.engine.evaluate import Evaluator
from pencil.engine.share import OwnBatches
from pencil.engine.step import Step
from pencil.errors import PencilError
from pencil.losses import mix
from pencil.run.planning.plan import plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine
from pencil.runtime import ALONE, Processes

TAUGHT = {"average_epochs": 1.0, "mixup": 1.0, "distortion": 1.0}


def test_the_average_is_the_mean_at_first_and_then_moves_on() -> None:
    model = nn.Linear(1, 1, bias=False)
    average = Average(model, steps=4)
    seen = []
    for value in (1.0, 2.0, 3.0, 4.0, 5.0):
        model.weight.data.fill_(value)
        average.follow()
        seen.append(average.network.weight.item())
    assert seen == pytest.approx([1, 1.5, 2, 2.5, 2.5 + (5 - 2.5) / 4])
    average.restart()
    assert average.network.weight.item() == 5
    assert not any(p.requires_grad for p in average.network.parameters())


def test_running_statistics_are_averaged_too() -> None:
    model = nn.BatchNorm1d(1)
    average = Average(model, steps=2)
    for value in (1.0, 3.0):
        model.running_mean.fill_(value)
        average.follow()
    assert average.network.running_mean.item() == pytest.approx(2)
    assert not average.network.training


def test_a_weight_of_two_layers_moves_once() -> None:
    model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    model[1].weight = model[0].weight
    average = Average(model, steps=4)
    seen = []
    for value in (1.0, 2.0, 3.0):
        model[0].weight.data.fill_(value)
        average.follow()
        seen.append(average.network[1].weight.item())
    assert seen == pytest.approx([1, 1.5, 2])


def test_what_has_no_mean_is_taken_as_the_network_has_it() -> None:
    """An order of the inputs, drawn as the network is made, a mark that is set in training, or an infinite mask."""
    model = nn.Linear(3, 1)
    mask = torch.full((3, 3), -torch.inf).triu(1)
    model.register_buffer("mask", mask.clone())
    model.register_buffer("order", torch.tensor([0, 1, 2]))
    model.register_buffer("begun", torch.tensor(False))
    average = Average(model, steps=4)
    model.begun.fill_(True)
    average.follow()
    assert average.network.begun.item()
    assert torch.equal(average.network.mask, mask)
    model.order.copy_(torch.tensor([2, 0, 1]))
    average.restart()
    assert average.network.order.tolist() == [2, 0, 1]


def test_what_a_network_keeps_beside_its_tensors_is_no_obstacle_to_a_copy_unless_nothing_copies_it() -> None:
    model = nn.Linear(2, 1)
    model.computed = 2 * model.weight  # type: ignore[assignment]
    assert torch.equal(Average(model, steps=4).network.computed, 2 * model.weight)
    model.computed = Barrier(1)  # type: ignore[assignment]
    with pytest.raises(PencilError, match=r"cannot be copied \(.*lock.*\), .*average_epochs"):
        Average(model, steps=4)


def test_neighbours_are_mixed_and_one_without_a_neighbour_stays() -> None:
    values = torch.tensor([[0.0], [10.0], [20.0], [30.0], [40.0]])
    assert mix(values, torch.tensor([0.5, 0.0, 0.25, 1.0, 0.5])).flatten().tolist() == [5, 10, 22.5, 20, 40]
    assert mix(values, None) is values


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("length", [1, 4, 7, 12])
def test_processes_that_share_a_batch_mix_what_one_process_mixes(count: int, length: int) -> None:
    order = torch.randperm(length, generator=torch.Generator().manual_seed(0)) * 1.0
    (whole,) = OwnBatches(order, 12, ALONE)
    alone = dict(zip(whole.tolist(), mix(whole, torch.full((length,), 0.25)).tolist(), strict=True))
    seen: dict[float, float] = {}
    for rank in range(count):
        one = type("One", (Processes,), {"rank": rank, "count": count})()
        (part,) = OwnBatches(order, 12, one)
        seen |= dict(zip(part.tolist(), mix(part, torch.full((len(part),), 0.25)).tolist(), strict=True))
    assert seen == alone


def small(images: bool = False) -> Dataset:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=120)
    x = rng.normal(size=(120, 8)).astype(np.float32) + 2 * truth[:, None]
    if images:
        x = (rng.integers(0, 40, (120, 8, 8, 1)) + 60 * truth[:, None, None, None]).astype(np.uint8)
    given = np.where(rng.random(120) < 0.3, rng.integers(3, size=120), truth)
    return from_arrays(x, given, clean=truth, test=(x[:30], truth[:30]))


def engine(dataset: Dataset, **teaching: float) -> Engine:
    asked = {
        "teaching": teaching, "optimizer": {"batch_size": 16}, "backbone": "small_cnn" if dataset.preparation.kind ==
        "images" else "mlp", "hardware": {"device": "cpu", "threads": 1},
    }  # fmt: skip
    planned = plan(dataset, asked, epochs=[2, 3, 1])
    return build_engine(planned, choose_machine(planned.settings.hardware))[0]


class StopAfter(Listener):
    def __init__(self, steps: int) -> None:
        self.left = steps
        self.saved: tuple | None = None

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.left -= 1

    def save(self, tensors, meta) -> None:  # type: ignore[no-untyped-def]
        self.saved = {k: np.array(v) for k, v in tensors.items()}, dict(meta)

    def stop_requested(self) -> bool:
        return self.left <= 0


@pytest.mark.parametrize("images", [False, True])
def test_a_taught_run_stopped_anywhere_goes_on_to_the_same_bits(images: bool) -> None:
    whole = engine(small(images), **TAUGHT)
    whole.train(Listener())
    for steps in (3, 14, 20):
        first, listener = engine(small(images), **TAUGHT), StopAfter(steps)
        with pytest.raises(Stopped):
            first.train(listener)
        again = engine(small(images), **TAUGHT)
        assert listener.saved is not None
        again.restore(*listener.saved)
        again.train(Listener())
        for name, value in whole.state.tensors().items():
            assert torch.equal(value, again.state.tensors()[name]), name


def test_predictions_and_the_finished_network_are_the_average(tmp_path) -> None:  # type: ignore[no-untyped-def]
    settings = {"teaching": {"average_epochs": 2.0}, "hardware": {"threads": 1}}
    result = pencil.fit(small(), out=tmp_path / "run", settings=settings, epochs=[1, 2, 1])
    from pencil.results.checkpoint_store import CheckpointStore

    saved = CheckpointStore(tmp_path / "run" / "checkpoint").load().tensors
    for name, value in result.model.state_dict().items():
        assert np.array_equal(saved[f"average.model.{name}"], value), name
    assert any(not np.array_equal(saved[f"model.{n}"], v) for n, v in result.model.state_dict().items())


def test_mixing_changes_what_the_network_learns_but_not_whom_the_labels_follow() -> None:
    plain, mixed = (engine(small(), average_epochs=1.0, mixup=share) for share in (0.0, 1.0))
    for each in (plain, mixed):
        each.train(Listener())
    weights = (e.state.model.state_dict() for e in (plain, mixed))
    assert any(not torch.equal(a, b) for a, b in zip(*(w.values() for w in weights), strict=True))


@pytest.mark.parametrize("images", [True, False])
def test_the_network_learns_distorted_examples_and_labels_follow_the_teacher_who_sees_them_whole(images: bool) -> None:
    each = engine(small(images=images), average_epochs=1.0, distortion=1.0)
    network: list[torch.Tensor] = []
    teacher: list[torch.Tensor] = []
    each.state.model.register_forward_pre_hook(lambda _, inputs: network.append(inputs[0]))
    assert each.state.average is not None
    each.state.average.network.register_forward_pre_hook(lambda _, inputs: teacher.append(inputs[0]))
    index = torch.arange(16)
    raw, epoch = each.feed.raw(index), each.state.clock.epoch
    undistorted = each.prepare(raw, index, epoch)
    how = distort if images else leave_out
    distorted = how(undistorted, 1.0, each.prepare.seed, epoch, index)
    for each.state.distorted in (False, True):
        rows = each.state.table.gather(index)
        rows["label_logits"].requires_grad_()
        Step(each.state, each.phases[1], each.feed, each.prepare, each.precision)._learn_part(raw, index, rows)
    assert torch.equal(network[0], undistorted) and torch.equal(network[1], distorted)
    assert len(teacher) == 2 and all(torch.equal(x, undistorted) for x in teacher)


@pytest.mark.parametrize(("knows", "patience"), [(False, 0), (True, 0), (False, 1)])
def test_images_are_distorted_once_labels_are_known_by_heart_or_plain_ones_teach_no_more(
    knows: bool, patience: int
) -> None:
    class Notes(StopAfter):
        said = ""

        def note(self, line: str) -> None:
            self.said += line

    each, listener = engine(small(images=True), average_epochs=1.0, distortion=1.0), Notes(10**6)
    # It agrees with none of the held-out labels, or with all, and its loss on them never falls.
    each.phases = (replace(each.phases[0], patience=patience), *each.phases[1:])
    held_out, distorts = each.watched["held_out"], knows or patience > 0
    outputs = nn.functional.one_hot((held_out.labels + int(knows)) % 3, 3).float()
    held_out.evaluator.logits = lambda network: outputs  # type: ignore[method-assign]
    held_out.evaluator.blocks = lambda network: iter([(slice(None), outputs)])  # type: ignore[method-assign]
    each.train(listener)
    assert each.state.distorted == distorts
    assert ("from phase labels on it learns distorted images" in listener.said) == distorts
    each.save(listener)
    again = engine(small(images=True), average_epochs=1.0, distortion=1.0)
    assert listener.saved is not None
    again.restore(*listener.saved)
    assert again.state.distorted == distorts


@pytest.mark.parametrize(("epochs", "distorts"), [(5, False), (6, True)])
def test_images_are_distorted_where_plain_ones_had_time_enough(epochs: int, distorts: bool) -> None:
    each = engine(small(images=True), average_epochs=1.0, distortion=1.0)
    each.phases = (replace(each.phases[0], epochs=epochs, patience=1), *each.phases[1:])
    held_out, looks = each.watched["held_out"], iter(range(1, 1000))
    right = nn.functional.one_hot(held_out.labels, 3).float()
    # It gets better and better, and never knows the labels that it learns better than these.
    held_out.evaluator.logits = lambda network: next(looks) * 0.1 * right  # type: ignore[method-assign]
    held_out.evaluator.blocks = lambda network: iter([(slice(None), right)])  # type: ignore[method-assign]
    each.train(StopAfter(10**6))
    assert each.state.distorted == distorts


class Difference(nn.Module):
    """Tells two classes apart by the difference of two sums: of these columns, and of those."""

    def __init__(self, these: slice, those: slice) -> None:
        super().__init__()
        self.these, self.those = these, those

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        score = x[:, self.these].sum(1) - x[:, self.those].sum(1)
        return torch.stack([score, -score], 1)


@pytest.mark.parametrize(
    ("these", "those", "survives"),
    [(slice(0, 20), slice(20, 20), True), (slice(0, 1), slice(1, 2), False)],
    ids=["many columns say the same", "a small difference of two columns tells"],
)
def test_rows_lack_columns_where_labels_are_wrong_and_the_network_still_knows_them(
    these: slice, those: slice, survives: bool
) -> None:
    source = torch.Generator().manual_seed(0)
    x = torch.randn(400, 1, generator=source) + 0.1 * torch.randn(400, 20, generator=source)
    blocks = [slice(0, 300), slice(300, 400)]
    rows = type("Rows", (), {"blocks": lambda self, network: ((b, network(x[b])) for b in blocks)})()
    labelled = rows, torch.zeros(400)
    network = Difference(these, those)

    def why(*, has_learned: bool = True, right: float | None = None) -> str:
        return reason_to_distort(
            DISTORTIONS["rows"], 1.0, network, labelled, labelled, has_learned=has_learned, share_right=right
        )

    expected = "the network has learned what it can from whole rows" if survives else ""
    assert why() == why(right=0.9) == expected
    assert why(right=0.97) == why(has_learned=False) == "", "no wrong labels to speak of, or more to learn"


def answers(counts: list[int]) -> tuple[Evaluator, torch.Tensor]:
    """An evaluator whose network agrees with so many labels, and with so many not; the last have no label."""
    hits, misses, *none = counts
    labels = torch.tensor([0] * hits + [1] * misses + [-1] * sum(none))
    outputs = torch.tensor([[1.0, 0.0]]).expand(len(labels), 2)
    blocks = [(slice(0, 3), outputs[:3]), (slice(3, len(labels)), outputs[3:])]
    return type("Answers", (), {"blocks": lambda self, network: iter(blocks)})(), labels


@pytest.mark.parametrize(
    ("learned", "held_out", "found"),
    [
        ([800, 200], [80, 20], None),
        ([800, 200], [68, 32], None),
        ([900, 100], [70, 30], (90.0, 70.0)),
        ([700, 300], [90, 10], None),
        ([900, 100, 500], [70, 30, 50], (90.0, 70.0)),
        ([10, 0], [3, 1], None),
        ([900, 100], [0, 0, 50], None),
    ],
)
def test_labels_known_by_heart_are_agreed_with_more_than_others(
    learned: list[int], held_out: list[int], found: tuple[float, float] | None
) -> None:
    result = learned_by_heart(nn.Identity(), answers(learned), answers(held_out))
    assert result == (None if found is None else pytest.approx(found))


@pytest.mark.parametrize(
    ("assignment", "method", "says"),
    [
        ("teaching.mixup=1", "pencil", "give teaching.average_epochs"),
        ("teaching.views=2", "pencil", "teaching.views is no longer a setting: it is always 1; leave it out"),
        ("options.mix_tuning=true", "pencil", "options.mix_tuning is no longer a setting: it is always false"),
        ("teaching.mixup=2", "pencil", "from 0 to 1"),
        ("teaching.distortion=1.5", "pencil", "teaching.distortion is 1.5; give a number from 0 to 1"),
        ("teaching.average_epochs=-1", "pencil", "0 or more"),
    ],
)
def test_settings_that_cannot_be_are_refused(assignment: str, method: str, says: str) -> None:
    with pytest.raises(PencilError, match=says):
        plan(small(), {**override(assignment), "method": method, "recipe": "paper/cifar100"})


def test_methods_that_do_not_mix_refuse_mixup() -> None:
    with pytest.raises(PencilError, match=r'mae .* mixed examples; use settings={"teaching": {"mixup": 0}}'):
        plan(small(), {"method": "mae", "teaching": {"average_epochs": 1, "mixup": 1}})
