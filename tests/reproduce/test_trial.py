"""Trials: the paper's settings by default, shortened in proportion where asked."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pencil import methods, recipes
from pencil.config import from_document, merge, override, to_document
from pencil.errors import PencilError
from pencil.recipes import resolve
from pencil.reproduce.facts import FACTS
from pencil.reproduce.lengths import share_out
from pencil.reproduce.record import command, read_records, version_of_run
from pencil.reproduce.recorded import is_recorded
from pencil.reproduce.studies import STUDIES
from pencil.reproduce.trial import Trial, Wanted, plan_trials
from pencil.run.planning.plan import plan


def _plan(study: str, *, cells: str = "", systems: str = "", trials: int = 1, **wanted: object) -> list[Trial]:
    return plan_trials(
        STUDIES[study], cells=cells.split(), systems=systems.split(), trials=trials, wanted=Wanted(**wanted)
    )  # type: ignore[arg-type]


def test_names_folders_and_records() -> None:
    (trial,) = _plan("table3", cells="symmetric-50", systems="pencil")
    assert trial.name == "table3/pencil/symmetric-50-seed-0"
    assert trial.job(Path("out")).folder == Path("out/table3/pencil/symmetric-50-seed-0")
    assert trial.record(Path("reference")) == Path("reference/table3/pencil-symmetric-50-seed-0.json")


def test_the_papers_cell_is_its_recipe_and_nothing_else() -> None:
    (trial,) = _plan("table4", cells="asymmetric-30", systems="pencil")
    assert trial.document == {
        "method": "pencil",
        "recipe": "paper/cifar10-asymmetric-30",
        "seed": 0,
        "backbone": "preact_resnet32",
        "data": {"source": "cifar10", "noise": "asymmetric_cifar10:0.3"},
    }
    assert trial.phases == {"backbone": 70, "labels": 130, "tuning": 120}


def test_every_cell_has_a_first_trial_before_any_has_a_second() -> None:
    trials = _plan("table3", cells="symmetric-10 symmetric-30", systems="pencil cross_entropy", trials=2)
    assert [trial.seed for trial in trials] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_rows_without_a_cell_are_not_run_there() -> None:
    names = {trial.name for trial in _plan("table5")}
    assert "table5/cross_entropy/plain-seed-0" in names
    assert len(names) == 7


@pytest.mark.parametrize("study", STUDIES)
def test_every_trial_is_complete_settings(study: str) -> None:
    for trial in _plan(study):
        facts = replace(FACTS[trial.dataset], phase_names=methods.kind(trial.system.method).phase_names)
        document = merge(resolve(trial.document["recipe"], trial.system.method, facts), trial.document)
        assert sum(phase.epochs for phase in from_document(document).phases.values()) == trial.epochs


def test_shorter_runs_keep_the_shape_of_the_schedules() -> None:
    (trial,) = _plan("table3", cells="symmetric-50", systems="pencil", epochs=32)
    assert trial.phases == {"backbone": 7, "labels": 13, "tuning": 12}
    assert trial.document["phases"]["tuning"]["lr"] == "0.2, 0.02@4, 0.002@8"
    (trial,) = _plan("table6", systems="pencil", epochs=50)
    assert trial.document["options"]["label_lr"] == "3000, 500@10"


def test_epochs_are_shared_out_in_proportion() -> None:
    assert share_out({"a": 70, "b": 130, "c": 120}, 3) == {"a": 1, "b": 1, "c": 1}
    assert share_out({"a": 0, "b": 10}, 7) == {"a": 0, "b": 7}
    assert share_out(dict.fromkeys("abcd", 20), 6) == {"a": 1, "b": 1, "c": 2, "d": 2}
    assert sorted(share_out(dict.fromkeys("abcdefgh", 20), 12).values()) == [1] * 4 + [2] * 4
    with pytest.raises(PencilError, match="at least one epoch for each"):
        share_out({"a": 70, "b": 130}, 1)


def test_another_dataset_has_the_default_recipe_and_its_own_network() -> None:
    (trial,) = _plan("table3", cells="symmetric-50", systems="pencil", dataset="digits")
    assert trial.document["recipe"] == "auto"
    assert "backbone" not in trial.document


@pytest.mark.parametrize("wanted", [{"backbone": "mlp"}, {"settings": {"backbone": "mlp"}}])
def test_a_quick_run_of_another_network_has_none_of_the_small_ones_options(wanted: dict[str, Any]) -> None:
    (trial,) = _plan("table3", cells="symmetric-50", systems="pencil", dataset="digits", quick=True, **wanted)
    assert trial.asked["backbone"] == "mlp" and "backbone_options" not in trial.asked


def test_a_row_with_another_start_asks_it_of_the_studys_own_network() -> None:
    (trial,) = _plan("start", cells="symmetric-50", systems="pencil_torch041")
    assert trial.settings.backbone_options == {"start": "torch-0.4.1"}
    assert "--set 'backbone_options.start=\"torch-0.4.1\"'" in command(trial)


@pytest.mark.parametrize(
    "wanted", [{"dataset": "digits"}, {"quick": True}, {"backbone": "mlp"}, {"settings": {"backbone": "mlp"}}]
)
def test_a_row_with_another_start_asks_it_of_no_other_network(wanted: dict[str, Any]) -> None:
    (trial,) = _plan("start", cells="symmetric-50", systems="pencil_torch041", **wanted)
    assert "start" not in trial.settings.backbone_options


def test_quick_runs_take_the_label_step_of_their_recipe() -> None:
    (trial,) = _plan("table3", cells="symmetric-50", systems="pencil", dataset="digits", quick=True)
    recipe = resolve("auto", "pencil", FACTS["digits"])
    assert str(trial.settings.options["label_step"]) == recipe["options"]["label_step"]


@pytest.mark.parametrize("held_out", [0.0, 0.25, 0.5])
def test_a_run_has_the_settings_of_its_trial_where_another_share_is_held_out(held_out: float) -> None:
    (trial,) = _plan(
        "table3", cells="symmetric-50", systems="pencil", dataset="digits", backbone="mlp", epochs=9,
        settings={"data": {"held_out": held_out}},
    )  # fmt: skip
    made = plan(None, trial.document)
    assert trial.num_examples == len(made.dataset.train)
    assert to_document(made.settings) == to_document(trial.settings)


@pytest.mark.parametrize(
    ("epochs", "phases"),
    [
        (9, {}),
        (12, {}),
        (36, {}),
        (0, {"labels": {"epochs": 4}}),
        (12, {"labels": {"lr": "0.2, 0.02@10"}, "tuning": {"epochs": 40}}),
    ],
)
def test_a_run_has_the_settings_of_its_trial_and_so_has_its_command(epochs: int, phases: dict[str, Any]) -> None:
    settings = {"phases": phases} if phases else {}
    (trial,) = _plan(
        "table3", cells="symmetric-50", systems="pencil", dataset="digits", backbone="mlp", epochs=epochs,
        settings=settings,
    )  # fmt: skip
    assert to_document(plan(None, trial.document).settings) == to_document(trial.settings)
    words = shlex.split(command(trial))
    given = {before: word for before, word in pairwise(words) if before.startswith("--")}
    assigned = [override(word) for before, word in pairwise(words) if before == "--set"]
    asked = {"method": given["--method"], "recipe": given["--recipe"], "backbone": "mlp", "seed": 0}
    lengths = [int(count) for count in given["--epochs"].split(",")] if epochs else None
    again = plan("digits", merge(asked, {"data": {"noise": given["--noise"]}}, *assigned), epochs=lengths)
    assert to_document(again.settings) == to_document(trial.settings)


def test_a_shorter_run_takes_the_users_spelling_of_a_schedule() -> None:
    (trial,) = _plan(
        "table3", cells="symmetric-50", systems="pencil", dataset="digits", epochs=6,
        settings={"options": {"label_lr": "3000"}},
    )  # fmt: skip
    assert trial.document["options"] == {"label_lr": "3000"}
    assert "label_step" not in trial.settings.options


def test_only_other_settings_than_the_papers_differ() -> None:
    assert not Wanted(places={"data": {"root": "data"}}).differs
    assert Wanted(epochs=3).differs and Wanted(dataset="digits").differs and Wanted(settings={"seed": 1}).differs


def test_a_users_own_method_gets_a_row(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from pencil.methods.cross_entropy import CrossEntropy\nclass Mine(CrossEntropy):\n    'Mine.'\n")
    (trial,) = _plan("table3", cells="symmetric-50", systems=f"{file}:Mine")
    assert (trial.system.name, trial.system.method) == ("Mine", f"{file}:Mine")


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({"cells": "symmetric-51"}, 'no cell "symmetric-51"'),
        ({"systems": "pencill"}, 'no method "pencill"'),
        ({"dataset": "digit"}, 'Did you mean "digits"'),
    ],
)
def test_unknown_names_are_refused(asked: dict[str, str], line: str) -> None:
    with pytest.raises(PencilError, match=line):
        _plan("table3", **asked)  # type: ignore[arg-type]


def test_labels_that_people_gave_are_of_no_other_dataset() -> None:
    cells = [trial.cell.name for trial in _plan("switches", systems="pencil", dataset="digits")]
    assert cells == ["symmetric-50", "asymmetric-40"]
    with pytest.raises(PencilError, match="has no such cells"):
        _plan("default", cells="aggre", dataset="digits")


def test_labels_that_people_gave_lie_beside_the_data(tmp_path: Path) -> None:
    def labels() -> str:
        (trial,) = _plan("default", cells="random1", systems="pencil", places={"data": {"root": str(tmp_path)}})
        return str(trial.document["data"]["labels"])

    assert labels() == f"{tmp_path}/CIFAR-10_human.pt:random_label1"
    (tmp_path / "cifar10n_labels.npz").touch()
    assert labels() == f"{tmp_path}/cifar10n_labels.npz:random_label1"


def test_each_switch_changes_one_part_of_the_recipe() -> None:
    whole, *others = _plan("switches", cells="random1", systems="pencil " + " ".join(
        system.name for system in STUDIES["switches"].systems if system.name not in ("pencil", "cross_entropy")
    ))  # fmt: skip
    assert len(others) == 7
    for trial in others:
        assert trial.settings != whole.settings, trial.name
        parts = set(trial.document) - set(whole.document)
        assert parts in ({"options"}, {"teaching"}), trial.name


def test_cross_entropy_as_long_as_pencil_has_its_epochs_and_rates() -> None:
    longer, pencil = (
        plan_trials(STUDIES["clean"], systems=[name], trials=1, wanted=Wanted())[0]
        for name in ("cross_entropy_long", "pencil")
    )
    (training,) = longer.settings.phases.values()
    assert training.epochs == pencil.epochs == 320
    start = 0
    for phase in pencil.settings.phases.values():
        for epoch in (0, 39, 40, 69, 79, 80, phase.epochs - 1):
            if epoch < phase.epochs:
                assert training.lr.at(start + epoch, 320) == phase.lr.at(epoch, phase.epochs)
        start += phase.epochs


def test_without_noise_pencil_is_also_set_as_for_asymmetric_noise() -> None:
    (clean,) = plan_trials(STUDIES["clean"], systems=["pencil_asymmetric_settings"], trials=1, wanted=Wanted())
    (noisy,) = _plan("table4", cells="asymmetric-10", systems="pencil")
    assert clean.settings.options == noisy.settings.options
    assert clean.settings.phases == noisy.settings.phases
    assert clean.settings.optimizer == noisy.settings.optimizer


def test_a_run_whose_first_phase_the_data_ended_is_a_record_of_its_trial(tmp_path: Path, record: Callable) -> None:  # type: ignore[type-arg]
    (trial,) = _plan("default", cells="symmetric-70", systems="pencil")
    path = trial.record(tmp_path)
    path.parent.mkdir()

    def recorded(epochs: int) -> bool:
        made = record(study="default", recipe="auto", recipe_version=recipes.version("auto"), epochs=epochs)
        path.write_text(json.dumps(made))
        return is_recorded(trial, tmp_path)

    assert recorded(trial.epochs) and recorded(trial.epochs - 30)
    assert recorded(trial.epochs + 150), "label learning may take longer"
    with pytest.raises(PencilError, match="other settings \\(epochs\\)"):
        recorded(trial.epochs + 151)


def test_a_record_of_another_version_of_the_recipe_does_not_hold(
    tmp_path: Path,
    record: Callable,  # type: ignore[type-arg]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (trial,) = _plan("default", cells="symmetric-70", systems="pencil")
    path = trial.record(tmp_path)
    path.parent.mkdir()

    def recorded(version: int | None) -> bool:
        said = {} if version is None else {"recipe_version": version}
        path.write_text(json.dumps(record(study="default", recipe="auto", epochs=trial.epochs) | said))
        assert is_recorded(trial, tmp_path) == bool(read_records(tmp_path, "default"))
        return is_recorded(trial, tmp_path)

    now = recipes.version("auto")
    assert recorded(now) and not recorded(now - 1)
    monkeypatch.setitem(recipes.VERSIONS, "auto", 2)
    assert recorded(None), "the second did not say it yet"
    monkeypatch.setitem(recipes.VERSIONS, "auto", 3)
    assert not recorded(None) and not recorded(2) and recorded(3)


def test_a_run_of_several_versions_is_one_of_the_earliest() -> None:
    assert version_of_run("auto", {"environment": {"recipe_version": 4}}) == 4
    earlier = [{"recipe_version": 3, "until_epoch": 5}, {"recipe_version": 4, "until_epoch": 9}]
    assert version_of_run("auto", {"environment": {"recipe_version": 4, "earlier": earlier}}) == 3
    assert version_of_run("auto", {"environment": {}}) == 2, "those that do not say it"
    assert version_of_run("paper/cifar100", {"environment": {}}) == 1
