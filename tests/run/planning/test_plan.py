"""From what a user asks for to complete settings."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from pencil.config import Schedule, from_document, merge, override, read_toml, to_document, write_toml
from pencil.errors import PencilError
from pencil.run.planning.plan import differing, plan
from pencil.run.planning.total import plan_epochs, read_epochs


def test_the_default_is_pencil_with_the_auto_recipe() -> None:
    planned = plan("digits", {})
    s = planned.settings
    assert (s.method, s.recipe, s.data.source, s.seed) == ("pencil", "auto", "digits", 0)
    assert s.backbone == "small_cnn", "the source's own"
    assert [phase.name for phase in planned.phases] == ["backbone", "labels", "tuning"]
    assert planned.dataset.held_out is not None and planned.dataset.test is not None


def test_what_the_user_gives_wins_over_the_recipe() -> None:
    asked = merge(override("optimizer.momentum=0.5"), override("phases.labels.lr=0.07"), override("anchor=0.25"))
    planned = plan("digits", {**asked, "recipe": "paper/cifar10-symmetric-70"})
    s = planned.settings
    assert (s.optimizer.momentum, s.optimizer.batch_size) == (0.5, 128)
    assert (s.phases["labels"].lr, s.phases["labels"].epochs) == (Schedule.parse(0.07), 130)
    assert planned.method.anchor == 0.25, "the user's spelling replaces the recipe's α"
    assert planned.method.label_step == Schedule.parse(800 / 1280)


@pytest.mark.parametrize(
    ("mine", "gone"),
    [("label_step", "label_lr"), ("label_lr", "label_step"), ("anchor", "compatibility_weight"),
     ("compatibility_weight", "anchor")],
)  # fmt: skip
def test_the_users_spelling_replaces_the_other_one(mine: str, gone: str) -> None:
    for recipe in ("auto", "paper/cifar10-symmetric-50"):
        options = plan("digits", {"recipe": recipe, "options": {mine: 0.5}}).settings.options
        assert options[mine] == 0.5 and gone not in options


def test_two_spellings_of_the_users_own_are_refused() -> None:
    with pytest.raises(PencilError, match="two spellings of one setting"):
        plan("digits", {"options": {"anchor": 0.5, "compatibility_weight": 0.1}})


def test_other_epochs_stretch_drops_and_label_rates() -> None:
    planned = plan("digits", {"recipe": "paper/clothing1m"}, epochs=(1, 40, 30))
    backbone, labels, tuning = planned.phases
    assert (backbone.epochs, labels.epochs, tuning.epochs) == (1, 40, 30)
    # λ: 3000 for the first half of 10 epochs, 500 for the second; the rate of tuning drops half way.
    step = [3000 / (32 * 10), 500 / (32 * 10)]
    assert labels.label_step is not None
    assert [labels.label_step.at(epoch, 40) for epoch in (0, 19.9, 20, 39)] == pytest.approx(
        [step[0]] * 2 + [step[1]] * 2
    )
    assert [tuning.lr.at(epoch, 30) for epoch in (0, 14.9, 15, 29)] == [5e-4, 5e-4, 5e-5, 5e-5]


def test_schedules_given_beside_other_epochs_are_meant_for_those() -> None:
    own = {"phases": {"tuning": {"lr": "0.1, 0.01@15"}}, "options": {"label_lr": "200, 100@20"}}
    for lengths in ((1, 40, 30), 71):
        planned = plan_epochs(partial(plan, "digits"), {"recipe": "paper/clothing1m"} | own, lengths)
        _, labels, tuning = planned.phases
        assert planned.settings.options["label_lr"] == "200, 100@20"
        assert labels.label_step is not None and tuning.lr.at(15, tuning.epochs) == 0.01
        assert labels.label_step.at(20, labels.epochs) == labels.label_step.at(0, labels.epochs) / 2


def test_schedules_of_settings_with_lengths_stretch_with_these() -> None:
    file = {"method": "cross_entropy", "phases": {"training": {"epochs": 10, "lr": "0.1, 0.01@5"}}}
    assert plan("digits", file, epochs=(20,)).phases[0].lr.at(9.9, 20) == 0.1


@pytest.mark.parametrize("asked", [{}, {"phases": {"labels": {"epochs": 4}}}], ids=["--epochs", "settings"])
def test_labels_of_the_default_can_flip_in_few_epochs(asked: dict[str, Any]) -> None:
    few = plan("digits", asked, epochs=None if asked else (2, 4, 2)).phases[1]
    total = plan_epochs(partial(plan, "digits"), {}, 8).phases[1]
    usual, own = plan("digits", {}).phases[1], plan("digits", {"options": {"label_step": "1 -> 0"}}, epochs=(2, 4, 2))
    assert few.epochs == total.epochs == 4
    steps = [phase.label_step.at(0, phase.epochs) for phase in (few, total, usual, own.phases[1]) if phase.label_step]
    assert steps == [4.167, 6.25, 2.5, 1], "whoever gives a step means it"


def test_linear_label_rates_end_at_zero_after_any_number_of_epochs() -> None:
    planned = plan("digits", {"recipe": "paper/cifar10-asymmetric-40"}, epochs=(7, 13, 12))
    steps = planned.phases[1].label_step
    assert steps is not None
    assert [steps.at(epoch, 13) for epoch in (0, 6.5, 13)] == pytest.approx([3000 / 1280, 1500 / 1280, 0])
    assert [planned.phases[2].lr.at(epoch, 12) for epoch in (3.9, 4, 7.9, 8)] == [0.2, 0.02, 0.02, 0.002]


def test_cross_entropy_stretches_too() -> None:
    planned = plan("digits", {"recipe": "paper/cifar10-symmetric-50", "method": "cross_entropy"}, epochs=(30,))
    (phase,) = planned.phases
    assert [phase.lr.at(epoch, 30) for epoch in (0, 9.9, 10, 19.9, 20)] == [0.2, 0.2, 0.02, 0.02, 0.002]


def test_phases_may_be_left_out() -> None:
    planned = plan("digits", {"recipe": "paper/cifar10-symmetric-50"}, epochs=(7, 13, 0))
    assert [phase.epochs for phase in planned.phases] == [7, 13, 0]


@pytest.mark.parametrize("recipe", ["auto", "paper/cifar10-asymmetric-40", "paper/clothing1m"])
@pytest.mark.parametrize("epochs", [None, (3, 7, 11)])
def test_written_settings_resolve_to_themselves(recipe: str, epochs: Any, tmp_path: Path) -> None:
    first = plan("digits", {"recipe": recipe, "seed": 5, "data": {"noise": "symmetric:0.3"}}, epochs=epochs)
    file = tmp_path / "config.toml"
    file.write_text(write_toml(to_document(first.settings)), encoding="utf-8")
    again = plan(None, read_toml(file))
    assert again.settings == first.settings
    assert again.phases == first.phases
    assert np.array_equal(again.dataset.train.given, first.dataset.train.given)
    assert again.dataset.facts["fingerprint"] == first.dataset.facts["fingerprint"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"seed": "three"}, 'seed is "three"; give a value of type int'),
        ({"data": 3}, "data is a group of settings"),
        ({"options": 3}, "options is a group of settings"),
        ({"phases": 3}, "phases is a group of settings"),
        ({"phases": {"labels": 3}}, r"phases\.labels is a group of settings"),
        ({"phases": {"labels": {"epochs": "many"}}}, r'phases\.labels\.epochs is "many"'),
        ({"phases": {"lables": {"epochs": 3}}}, r'no phase "lables"\. Did you mean "labels"'),
        ({"phases": {"lables": {"lr": 1}}}, r'no phase "lables"\. Did you mean "labels"'),
        ({"method": "cross_entropy", "phases": {"labels": {"lr": 1}}}, r'no phase "labels"\. Known: training'),
        ({"optimizer": {"batchsize": 3}}, r'"optimizer\.batchsize"\. Did you mean "batch_size"'),
        ({"metod": "pencil"}, r'no setting "metod"\. Did you mean "method"'),
        ({"trusted": np.ones(3, bool)}, 'no setting "trusted". Did you mean "data.trusted" or "data.options.trusted"'),
        ({"label": "kind"}, 'no setting "label". Did you mean "data.options.label"'),
        (override("label=kind"), 'no setting "options.label". Did you mean "data.options.label"'),
        (override("batch_size=32"), 'no setting "options.batch_size". Did you mean "optimizer.batch_size"'),
        ({"method": "pensil"}, r'no method "pensil"\. Did you mean "pencil"'),
        ({"recipe": "automatic"}, 'no recipe "automatic"'),
        ({"backbone": "mpl"}, r'no backbone "mpl"'),
        ({"options": {"anchr": 0.5}}, r'"options\.anchr"\. Did you mean "anchor"'),
        ({"data": {"noise": "symetric:0.4"}}, r'Did you mean "symmetric"'),
    ],
)
def test_wrong_requests_end_in_one_line(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(PencilError, match=message) as e:
        plan("digits", asked).new_network()
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("method", "epochs", "message"),
    [
        ("pencil", (3, 1), "epochs has 2 numbers, but pencil has 3 phases: backbone, labels, tuning"),
        ("pencil", (3,), "epochs has 1 number, but pencil has 3 phases"),
        ("lq", (3, 1), "epochs has 2 numbers, but lq has 1 phase: training"),
        ("pencil", (1, -2, 1), "give 0 or more"),
    ],
)
def test_epochs_must_fit_the_phases(method: str, epochs: Any, message: str) -> None:
    with pytest.raises(PencilError, match=message):
        plan("digits", {"method": method}, epochs=epochs)


def test_arrays_and_torch_datasets_are_data_too() -> None:
    x, y = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32), np.arange(30) % 3
    for source in ((x, y), TensorDataset(torch.from_numpy(x), torch.from_numpy(y))):
        planned = plan(source, {"data": {"held_out": 0.0}})
        assert (len(planned.dataset.train), planned.dataset.num_classes, planned.settings.backbone) == (30, 3, "mlp")
    with pytest.raises(PencilError, match="no data can be read from an object of type int; give a path"):
        plan(3, {})
    with pytest.raises(PencilError, match="root is 'photos', but data that is given in Python lies in no folder"):
        plan((x, y), {"data": {"root": "photos"}})


def test_drops_of_a_label_step_stretch_once_to_a_total_also_where_phases_have_lengths_of_their_own() -> None:
    asked = {"recipe": "paper/clothing1m", "phases": {"labels": {"epochs": 10}}}
    found = plan_epochs(partial(plan, "digits"), asked, 50)
    assert found.phases[1].epochs == 20
    assert found.settings.options["label_lr"] == "3000, 500@10", "half of the phase, as in the recipe's ten epochs"


def test_numbers_that_no_training_could_count_to_are_refused() -> None:
    with pytest.raises(PencilError, match=r"epochs is 10+; give a number from 0 to 1000000000"):
        read_epochs([3, 10**400])
    with pytest.raises(PencilError, match=r"phases\.labels\.epochs is 10+; give a number from 0 to 1000000000"):
        plan("digits", {"phases": {"labels": {"epochs": 10**400}}})
    with pytest.raises(PencilError, match=r"seed is 10+; give a number from 0 to 1e\+300"):
        plan("digits", {"seed": 10**400})
    assert plan("digits", {"seed": 2**128}).settings.seed == 2**128, "as NumPy draws them"


def test_a_total_is_refused_where_no_phase_would_get_any_of_it() -> None:
    """A network would be left untrained without a word."""
    asked = {"method": "cross_entropy", "phases": {"training": {"epochs": 0}}}
    with pytest.raises(PencilError, match="all phases have 0 epochs, so there is nothing to share epochs among"):
        plan_epochs(partial(plan, "digits"), asked, 5)


def test_a_phase_of_one_epoch_has_its_share_of_a_total_also_where_it_may_be_left_early() -> None:
    asked = {"phases": {name: {"epochs": 1} for name in ("backbone", "labels", "tuning")}}
    phases = plan_epochs(partial(plan, "digits"), asked, 6).phases
    assert [phase.epochs for phase in phases] == [2, 2, 2]


def test_settings_that_differ_are_listed_and_equal_ones_are_not() -> None:
    before = from_document(
        {"method": "pencil", "seed": 1, "optimizer": {"momentum": 0},
         "phases": {"labels": {"epochs": 3, "lr": "0.1, 0.01@2"}}, "options": {"anchor": 0.5}}
    )  # fmt: skip
    same = {"seed": 1, "optimizer": {"momentum": 0}, "phases": {"labels": {"lr": "0.10,0.01@2.0"}},
            "options": {"anchor": 0.5}, "backbone": "", "hardware": {"device": "cuda"}}  # fmt: skip
    assert differing(before, same) == []
    other = {"seed": 2, "optimizer": {"momentum": 0.9}, "options": {"anchor": 0.6, "label_step": 1},
             "data": {"noise": "symmetric:0.2"}}  # fmt: skip
    assert sorted(differing(before, other)) == sorted(
        ["seed", "optimizer.momentum", "options.anchor", "options.label_step", "data.noise"]
    )


def test_a_setting_that_has_gone_does_not_differ_where_it_has_the_value_that_became_the_rule() -> None:
    before = from_document({"method": "pencil", "teaching": {"views": 1, "mixup": 0}})
    assert differing(before, {"teaching": {"views": 1}}) == [], "as of a file that a run was started with, to resume it"
    assert differing(before, {"teaching": {"views": 2}}) == ["teaching.views"]


def test_a_network_from_published_weights_is_not_said_to_be_from_scratch() -> None:
    photos = np.arange(12, dtype=np.uint8)[:, None, None, None].repeat(96, 1).repeat(96, 2), np.arange(12) % 2
    assert any("from scratch" in line for line in plan(photos, {}).warnings)
    assert not any("from scratch" in line for line in plan(photos, {"backbone_options": {"weights": "w.pth"}}).warnings)


def test_copies_are_no_more_examples() -> None:
    rows, labels = np.random.default_rng(0).random((500, 3)), np.arange(500) % 2
    once, thrice = (plan((np.tile(rows, (n, 1)), np.tile(labels, n)), {}).settings.optimizer for n in (1, 3))
    assert (once.weight_decay, once.batch_size) == (thrice.weight_decay, thrice.batch_size)
