"""`pencil reproduce`, end to end: runs, records, tables and figures."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pencil import recipes
from pencil.reproduce import conduct
from pencil.reproduce.choice import choose
from pencil.reproduce.trial import Trial, Wanted
from pencil.run.queue import Job

Command = Callable[..., tuple[int, str, str]]
MINE = """
from pencil.methods.cross_entropy import CrossEntropy

class METHOD(CrossEntropy):
    def loss(self, batch):
        {body}
"""
TINY = ("--backbone", "mlp", "--set", "backbone_options.hidden=8", "--set", "hardware.threads=1")


def _records(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*/*.json"))}


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_the_whole_path_on_digits(pencil: Command, place: Path) -> None:
    asked = ("reproduce", "table3", "--dataset", "digits", "--quick", "--epochs", 3, "--parallel", 2, "--out", "out")
    chosen = ("--cells", "symmetric-50,symmetric-70", "--methods", "cross_entropy,pencil")
    code, out, err = pencil(*asked, *chosen)
    assert code == 0, err
    assert (place / "out/table3.md").read_text().strip() == out.strip()
    assert "missing" in out and "not the paper's experiment" in out
    files = ("table3.csv", "table3.html", "figure2.svg", "figure2.png")
    assert all((place / "out" / name).stat().st_size for name in files)
    assert not (place / "reference").exists()

    records = _records(place / "out/reference")
    assert len(records) == 4
    pencil_70 = records["pencil-symmetric-70-seed-0"]
    assert len(pencil_70["series"]["label_accuracy"]) == pencil_70["epochs"] == 3
    assert "series" not in records["pencil-symmetric-50-seed-0"]
    assert pencil_70["seconds_compiled"] > 0 and pencil_70["at_once"] == 2
    told = {"study", "cell", "noise", "recipe", "backbone", "epochs", "command", "seed", "seconds", "environment"}
    assert told <= set(pencil_70)
    assert str(place) not in json.dumps(records)

    # Nothing that has a record is run again, even where the runs are gone.
    before = {path: path.stat().st_mtime_ns for path in (place / "out/reference").rglob("*.json")}
    (place / "out/table3").rename(place / "elsewhere")
    code, again, err = pencil(*asked, *chosen)
    assert (code, again) == (0, out)
    assert "0 of 4 trials to run" in err and not (place / "out/table3").exists()
    assert before == {path: path.stat().st_mtime_ns for path in (place / "out/reference").rglob("*.json")}

    # A record of other settings does not pass for this one.
    code, _, err = pencil(*asked, *chosen, "--epochs", 6)
    assert code == 2 and "was made with other settings (epochs)" in err


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_a_finished_run_without_a_record_gets_one(
    pencil: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("reproduce", "figure2", "--dataset", "digits", *TINY, "--epochs", 3, "--out", "out")
    assert pencil(*asked)[0] == 0
    (found,) = _records(place / "out/reference").items()
    (place / "out/reference/table3" / f"{found[0]}.json").unlink()
    code, _, err = pencil(*asked)
    assert code == 0 and "table3/pencil/symmetric-70-seed-0: skipped" in err
    assert _records(place / "out/reference") == dict([found])
    (place / "out/reference/table3" / f"{found[0]}.json").unlink()
    code, _, err = pencil(*asked, "--set", "optimizer.batch_size=32")
    assert code == 2 and "started with other settings (optimizer.batch_size)" in err
    code, _, err = pencil("reproduce", "figure2", "--dataset", "digits", "--epochs", 3, "--out", "out")
    assert code == 2 and "started with other settings (backbone_options.hidden)" in err
    # Nor is it one of a later version of the recipe.
    made_with = recipes.version("auto")
    assert found[1]["recipe_version"] == found[1]["environment"]["recipe_version"] == made_with
    monkeypatch.setitem(recipes.VERSIONS, "auto", made_with + 1)
    code, _, err = pencil(*asked)
    assert code == 2 and f"was made with version {made_with} of the recipe auto, which has changed since" in err


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_options_by_which_a_method_is_told_more_give_it_a_star(pencil: Command, place: Path) -> None:
    chosen = ("table3/joint_optimization/symmetric-50", "--set", "options.prior_weight=1.2")
    code, out, err = pencil("reproduce", *chosen, "--dataset", "digits", *TINY, "--epochs", 3, "--out", "out")
    assert code == 0, err
    (record,) = _records(place / "out/reference").values()
    assert record["extra_information"] is True
    assert "Joint optimization (Tanaka et al.) *" in out and "| joint_optimization * |" in out


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_a_failed_run_leaves_its_cell_missing(pencil: Command, place: Path) -> None:
    (place / "mine.py").write_text(MINE.format(body="raise ValueError('it cannot')"))
    chosen = ("--cells", "symmetric-10", "--methods", "mine.py:METHOD", "--epochs", 1, "--out", "out")
    code, out, err = pencil("reproduce", "table3", "--dataset", "digits", *chosen, *TINY)
    assert code == 1
    assert "METHOD/symmetric-10-seed-0: failed" in err and "it cannot" in err
    assert "(1)" not in out and not (place / "out/reference").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_other_settings_or_code_are_refused_and_replaced_only_by_force(pencil: Command, place: Path) -> None:
    method = place / "mine.py"
    method.write_text(MINE.format(body="return super().loss(batch)"))
    asked = ("reproduce", "table3", "--dataset", "digits", "--cells", "symmetric-50", "--methods", "mine.py:METHOD")
    asked = (*asked, *TINY, "--epochs", 1, "--out", "out")

    def record() -> dict[str, Any]:
        (found,) = _records(place / "out/reference").values()
        return found

    def made() -> int:
        return (place / "out/table3/METHOD/symmetric-50-seed-0/result.json").stat().st_mtime_ns

    def forced(*more: object) -> None:
        before = made()
        code, out, err = pencil(*asked, "--force", *more)
        assert code == 0, err
        assert "1 of 1 trials to run; 1 have a record in out/reference, to be replaced." in err
        assert "METHOD/symmetric-50-seed-0: finished" in err and "skipped" not in err
        assert made() > before, "it was run again"
        assert f"{record()['test_accuracy']['last']:.2f}" in out
        assert [path.name for path in (place / "out/table3/METHOD").iterdir() if path.is_dir()] == [
            "symmetric-50-seed-0"
        ]

    assert pencil(*asked)[0] == 0
    first = record()
    assert str(place) not in json.dumps(first) and list(first["environment"]["own_code"]) == ["mine.py:METHOD"]
    forced()
    other = ("--set", "optimizer.weight_decay=0.9")
    code, out, err = pencil(*asked, *other)
    assert (code, out) == (2, "") and "made with other settings (optimizer.weight_decay); give another folder" in err
    forced(*other)
    assert record()["asked"]["optimizer"] == {"weight_decay": 0.9}
    code, out, err = pencil(*asked)
    assert (code, out) == (2, "") and "made with other settings (optimizer.weight_decay)" in err

    method.write_text(MINE.format(body="return super().loss(batch)  # in other words"))
    code, out, err = pencil(*asked, *other)
    assert (code, out) == (2, "") and "made with other code in mine.py:METHOD; restore it" in err
    for path in (place / "out/reference/table3").iterdir():
        path.unlink()
    code, out, err = pencil(*asked, *other)
    assert (code, out) == (2, "") and "made with other code in mine.py:METHOD; restore it" in err


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
@pytest.mark.parametrize(
    ("study", "layout", "cells", "classes"), [("table5", "cub200", "3000-0.1", 3), ("table6", "clothing1m", "web", 3)]
)
def test_real_layouts(
    study: str, layout: str, cells: str, classes: int, pencil: Command, place: Path, fakes: ModuleType
) -> None:
    getattr(fakes, layout)(place / "data")
    small = ("--set", "data.options.size=16", "--set", "data.options.crop=16", "--epochs", 3)
    asked = ("reproduce", study, "--root", place / "data", "--cells", cells, "--methods", "pencil", "--out", "out")
    code, out, err = pencil(*asked, *small, *TINY)
    assert code == 0, err
    (record,) = _records(place / "out/reference").values()
    assert (record["dataset"], record["num_classes"], record["noise"]) == (layout, classes, "")
    assert record["recipe"].startswith(f"paper/{layout}")
    assert "(1)" in out


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_the_default_on_labels_that_people_gave(pencil: Command, place: Path, fakes: ModuleType) -> None:
    import numpy as np

    fakes.cifar10_binary(place / "data", per_batch=40)
    wrong = np.random.default_rng(0).integers(0, 10, 200)
    np.savez(place / "data" / "cifar10n_labels.npz", random_label1=wrong)
    asked = ("reproduce", "default", "--root", place / "data", "--cells", "random1", "--methods", "pencil")
    code, out, err = pencil(*asked, "--out", "out", "--epochs", 3, *TINY)
    assert code == 0, err
    (record,) = _records(place / "out/reference").values()
    assert "--labels cifar10n_labels.npz:random_label1" in record["command"] and str(place) not in json.dumps(record)
    assert 5 < record["label_accuracy"]["given"] < 16, "people's labels, not the dataset's"
    assert 0 <= record["detection"]["auprc"] <= 1
    assert record["teaching"]["guard"] and record["teaching"]["distortion"] == 1
    assert f"{record['detection']['auprc']:.4f}" in out
    assert "0 of 1 trials to run" in pencil(*asked, "--out", "out", "--epochs", 3, *TINY, "--dry-run")[1]


def test_weights_reach_the_network(pencil: Command, place: Path) -> None:
    from pencil.reproduce.studies import STUDIES
    from pencil.reproduce.trial import Wanted, plan_trials

    code, _, err = pencil("reproduce", "table6", "--weights", "resnet50.pth", "--dry-run")
    assert code == 2 and "resnet50.pth does not exist" in err
    wanted = Wanted(places={"backbone_options": {"weights": "/somewhere/resnet50.pth"}})
    (trial,) = plan_trials(STUDIES["table6"], systems=["pencil"], trials=1, wanted=wanted)
    assert trial.document["backbone_options"] == {"weights": "/somewhere/resnet50.pth"}


@pytest.mark.parametrize("study", ["table5", "table6"])
def test_a_network_that_starts_from_scratch_is_not_the_papers(study: str, pencil: Command, place: Path) -> None:
    asked = ("reproduce", study, "--root", "nowhere")
    code, _, err = pencil(*asked)
    assert code == 2 and f"{study} starts resnet50 from weights that were trained on ImageNet; give their" in err
    for other in (("--set", "backbone_options.weights="), ("--backbone", "resnet34"), ("--quick",)):
        code, _, err = pencil(*asked, *other)
        assert code == 2 and "nowhere does not exist" in err, other
    (place / "resnet50.pth").touch()
    assert "nowhere does not exist" in pencil(*asked, "--weights", "resnet50.pth")[2]
    assert pencil(*asked, "--dry-run")[0] == 0
    assert [path.name for path in place.iterdir()] == ["resnet50.pth"]


def test_missing_data_is_said_before_anything_is_run(pencil: Command, place: Path) -> None:
    code, _, err = pencil("reproduce", "table3", "--root", "nowhere", "--out", "out")
    assert code == 2 and "nowhere" in err
    assert not (place / "out").exists()


def test_a_place_for_records_that_is_no_folder_is_said_before_anything_is_run(pencil: Command, place: Path) -> None:
    (place / "file").touch()
    for reference in ("file", "file/deeper"):
        code, _, err = pencil("reproduce", "table3", "--dataset", "digits", "--out", "out", "--reference", reference)
        assert code == 2 and "file is no folder, so no record can be kept there; give another --reference." in err
    assert not (place / "out").exists()


def test_a_record_that_cannot_be_written_stops_no_other_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = choose(["table3/lq"], trials=1, wanted=Wanted(dataset="digits"))
    told: list[str] = []
    written: list[str] = []
    full = True

    def write(trial: Trial, *_: Any, **__: Any) -> None:
        if full:
            raise OSError("no space left")
        written.append(trial.name)

    def run_jobs(jobs: list[Job], *, parallel: int, tell: Callable[[str], None]) -> list[Any]:
        for job in jobs:
            tell(job.name)
        nonlocal full
        full = not mended
        return []

    for name, stand_in in {"state_of": lambda _: "finished", "write_record": write, "run_jobs": run_jobs}.items():
        monkeypatch.setattr(conduct, name, stand_in)
    where: dict[str, Any] = {"out": place / "out", "reference": place / "reference", "parallel": 1}
    mended = True
    conduct.conduct(planned, **where, download=False, tell=told.append)
    assert told == written == [trial.name for trial in planned]
    mended, full = False, True
    with pytest.raises(OSError, match="no space left"):
        conduct.conduct(planned, **where, download=False, tell=told.append)
    assert told == 2 * written


def test_a_dry_run_lists_and_writes_nothing(pencil: Command, place: Path) -> None:
    code, out, _ = pencil("reproduce", "table2", "--cells", "symmetric-40", "--trials", 2, "--dry-run")
    assert code == 0
    assert "12 of 12 trials to run" in out and "No benchmark" in out
    assert list(place.iterdir()) == []


def test_an_unknown_table_is_refused(pencil: Command) -> None:
    code, _, err = pencil("reproduce", "table7")
    assert code == 2 and "Did you mean" in err


def test_results_are_asked_for_alone(pencil: Command, place: Path) -> None:
    code, _, err = pencil("reproduce", "table3", "results")
    assert code == 2 and "give results alone" in err
    assert list(place.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_several_tables_share_one_queue(pencil: Command, place: Path) -> None:
    asked = ("table3/cross_entropy/symmetric-50", "table4/cross_entropy/asymmetric-30")
    code, out, err = pencil(
        "reproduce", *asked, "--dataset", "digits", *TINY, "--epochs", 1, "--parallel", 2, "--out", "out"
    )
    assert code == 0, err
    assert "2 of 2 trials to run" in err
    assert (place / "out/table3.md").read_text() in out and (place / "out/table4.md").read_text() in out
    assert [record["at_once"] for record in _records(place / "out/reference").values()] == [2, 2]


def test_results_are_written_from_records_alone(
    pencil: Command, place: Path, record: Callable[..., dict[str, Any]]
) -> None:
    (place / "kept/table3").mkdir(parents=True)
    (place / "kept/table3/mine.json").write_text(json.dumps(record()))
    code, out, err = pencil("reproduce", "results", "--reference", "kept", "--page", "page.md")
    assert (code, out) == (0, "page.md\n"), err
    assert "87.50 (1)" in (place / "page.md").read_text()


@pytest.mark.parametrize("reference", [("--reference", "typo"), ("--reference", "empty"), ()])
def test_results_without_any_record_are_refused(reference: tuple[str, ...], pencil: Command, place: Path) -> None:
    (place / "empty/table3").mkdir(parents=True)
    code, out, err = pencil("reproduce", "results", *reference, "--page", "new/page.md")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    named = reference[1] if reference else "reference"
    assert f"there are no records in {named}, so there is nothing to show; give their folder with --reference" in err
    assert [path.name for path in place.iterdir()] == ["empty"]


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_the_recorded_command_repeats_the_run(pencil: Command, place: Path) -> None:
    import shlex

    asked = ("reproduce", "table3", "--dataset", "digits", "--cells", "symmetric-50", "--methods", "pencil")
    assert pencil(*asked, *TINY, "--epochs", 4, "--out", "out")[0] == 0
    (record,) = _records(place / "out/reference").values()
    words = shlex.split(record["command"])[1:]
    assert pencil(*words, "--out", "again", "--set", "hardware.threads=1", "--quiet")[0] == 0
    repeated = json.loads((place / "again/result.json").read_text())
    assert (repeated["test_accuracy"], repeated["label_accuracy"]) == (
        record["test_accuracy"],
        record["label_accuracy"],
    )


def test_the_csv_has_one_line_a_number(pencil: Command, place: Path) -> None:
    from pencil.reproduce.output import write_study
    from pencil.reproduce.studies import STUDIES

    write_study(STUDIES["table5"], [], place / "out")
    with (place / "out/table5.csv").open(encoding="utf-8") as lines:
        assert len(list(csv.DictReader(lines))) == 7 * 2
