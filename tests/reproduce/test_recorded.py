"""A record stands for a trial of its settings and its code, and for no other."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pencil import plugins, recipes
from pencil.errors import PencilError
from pencil.reproduce.record import command, portable
from pencil.reproduce.recorded import has_record, is_recorded, other_than_planned
from pencil.reproduce.studies import STUDIES
from pencil.reproduce.trial import Trial, Wanted, plan_trials

Make = Callable[..., dict[str, Any]]
ROOT = Path(__file__).parents[2]


def _trial(system: str = "pencil", **wanted: Any) -> Trial:
    (trial,) = plan_trials(
        STUDIES["table3"], cells=["symmetric-50"], systems=[system], trials=1, wanted=Wanted(dataset="digits", **wanted)
    )
    return trial


def _keep(trial: Trial, reference: Path, made: dict[str, Any]) -> None:
    path = trial.record(reference)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(made | {"recipe": "auto", "recipe_version": recipes.version("auto")}))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"optimizer": {"weight_decay": 0.9}}, "optimizer.weight_decay"),
        ({"teaching": {"guard": False}}, "teaching.guard"),
        ({"data": {"held_out": 0.2}}, "data.held_out"),
        ({"phases": {"labels": {"lr": "0.2"}}}, "phases.labels.lr"),
        ({"options": {"anchor": 0.5}}, "options.anchor"),
        ({"backbone_options": {"width": 4}}, "backbone_options.width"),
    ],
)
def test_any_setting_that_only_one_of_the_two_has_makes_it_another(
    settings: dict[str, Any], named: str, tmp_path: Path, record: Make
) -> None:
    plain, other = _trial(), _trial(settings=settings)
    for kept, asked in ((plain, other), (other, plain)):
        _keep(kept, tmp_path, record(asked=portable(kept.document), backbone="small_cnn"))
        assert is_recorded(kept, tmp_path)
        with pytest.raises(PencilError, match=f"other settings \\({named}\\); .*--force"):
            is_recorded(asked, tmp_path)


def test_settings_that_are_none_here_are_told_of_the_record(tmp_path: Path, record: Make) -> None:
    trial = _trial()
    _keep(trial, tmp_path, record(asked={**portable(trial.document), "colour": 1}, backbone="small_cnn"))
    with pytest.raises(PencilError, match=r'seed-0\.json has settings that are none here \(.*"colour".*\); .*--force'):
        is_recorded(trial, tmp_path)


def test_what_changes_no_result_is_the_same(tmp_path: Path, record: Make) -> None:
    step = str(_trial().settings.options["label_step"])
    kept = _trial(places={"data": {"root": "here"}, "hardware": {"threads": 1}})
    _keep(kept, tmp_path, record(asked=portable(kept.document), backbone="small_cnn"))
    assert is_recorded(_trial(places={"data": {"root": "there"}}), tmp_path)
    assert is_recorded(_trial(backbone="small_cnn"), tmp_path), "named, it is the data's own"
    assert is_recorded(_trial(settings={"options": {"label_step": step}}), tmp_path), "as the recipe has it"
    with pytest.raises(PencilError, match="backbone"):
        is_recorded(_trial(backbone="mlp"), tmp_path)


@pytest.mark.parametrize(("weights", "other"), [("resnet50.pth", []), ("", ["backbone_options.weights"])])
def test_a_record_of_a_start_from_scratch_is_not_one_of_published_weights(
    weights: str, other: list[str], record: Make
) -> None:
    study, given = STUDIES["table6"], Wanted(settings={"backbone_options": {"weights": weights}})
    (made,) = plan_trials(study, systems=["pencil"], trials=1, wanted=given)
    kept = record(dataset="clothing1m", cell="web", backbone="resnet50", asked=portable(made.document))
    assert other_than_planned(study, [kept]) == other


def test_no_folder_of_a_users_own_network_is_kept(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("from torch import nn\n\ndef make(spec, classes):\n    return nn.Identity()\n")
    trial = _trial(backbone=f"{tmp_path / 'net.py'}:make")
    assert "--backbone net.py:make" in command(trial) and str(tmp_path) not in command(trial)
    assert portable(trial.document)["backbone"] == "net.py:make"
    assert portable(_trial(backbone="timm:resnet18").document)["backbone"] == "timm:resnet18"


def test_labels_that_people_gave_are_the_same_in_either_file() -> None:
    asked = [portable({"data": {"labels": f"folder/{name}:aggre_label", "root": "folder"}})
             for name in ("CIFAR-10_human.pt", "cifar10n_labels.npz")]  # fmt: skip
    assert asked[0] == asked[1]
    assert portable({"data": {"labels": "folder/mine.npz"}}) == {"data": {"labels": "mine.npz"}}


def test_a_record_of_before_is_compared_by_its_command(tmp_path: Path, record: Make) -> None:
    trial, other = _trial("cross_entropy"), _trial("cross_entropy", settings={"optimizer": {"weight_decay": 0.9}})
    made = record(
        dataset="digits", noise="symmetric:0.5", method="cross_entropy", epochs=trial.epochs, backbone="small_cnn"
    )
    _keep(trial, tmp_path, made)
    assert is_recorded(trial, tmp_path)
    with pytest.raises(PencilError, match=r"\(optimizer\.weight_decay\)"):
        is_recorded(other, tmp_path)
    _keep(trial, tmp_path, made | {"command": "pencil train digits --set optimizer.weight_decay=0.9"})
    assert is_recorded(other, tmp_path)
    _keep(trial, tmp_path, made | {"command": "pencil train 'digits"})
    with pytest.raises(PencilError, match="its command: No closing quotation"):
        is_recorded(trial, tmp_path)
    _keep(trial, tmp_path, made | {"method": "mae"})
    with pytest.raises(PencilError, match="\\(method\\)"):
        is_recorded(trial, tmp_path)


def test_a_users_edited_file_makes_another_run(tmp_path: Path, record: Make) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from pencil.methods.cross_entropy import CrossEntropy\nclass Mine(CrossEntropy):\n    'Mine.'\n")
    trial = _trial(f"{file}:Mine")
    digest = plugins.digests([f"{file}:Mine"])[f"{file}:Mine"]
    made = record(asked=portable(trial.document), backbone="small_cnn", method="mine.py:Mine")
    _keep(trial, tmp_path, made | {"environment": {"own_code": {"mine.py:Mine": digest}}})
    assert is_recorded(trial, tmp_path)
    file.write_text(file.read_text() + "# another\n")
    with pytest.raises(PencilError, match=r"made with other code in mine\.py:Mine; restore it, .* --force"):
        is_recorded(trial, tmp_path)
    assert has_record(trial, tmp_path)
    _keep(trial, tmp_path, made)
    assert is_recorded(trial, tmp_path), "a record that does not tell stays valid"


def test_every_record_that_is_kept_here_stands_for_its_trial() -> None:
    reference = ROOT / "reference"
    kept = [
        trial
        for study in STUDIES.values()
        for trial in plan_trials(study, trials=3, wanted=Wanted())
        if has_record(trial, reference)
    ]
    assert len(kept) > 60
    assert all(is_recorded(trial, reference) for trial in kept)
