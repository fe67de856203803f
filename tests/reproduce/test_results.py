"""docs/results.md is what the committed records say, no more and no less."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pencil.errors import PencilError
from pencil.reproduce.estimate import read_benchmarks
from pencil.reproduce.record import read_records
from pencil.reproduce.results import results_text
from pencil.reproduce.studies import STUDIES

ROOT = Path(__file__).parents[2]


def test_the_committed_page_is_what_the_committed_records_make() -> None:
    records = {name: read_records(ROOT / "reference", name) for name in STUDIES}
    outdated = {name: read_records(ROOT / "reference", name, outdated=True) for name in STUDIES}
    made = results_text(records, ROOT / "docs", read_benchmarks(ROOT / "reference"), outdated)
    written = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert made == written, "run: pencil reproduce results"


def test_without_records_everything_is_missing() -> None:
    text = results_text({name: [] for name in STUDIES}, Path("docs"))
    assert "every cell below is missing" in text
    assert "pending" in text
    assert all(study.title in text for study in STUDIES.values())
    assert text.count("Ours: missing.") == 2


def test_what_an_earlier_version_of_a_recipe_reached_is_listed_and_counts_nowhere(
    record: Callable[..., dict[str, Any]],
) -> None:
    nothing: dict[str, list[Any]] = {name: [] for name in STUDIES}
    old = record(study="default", recipe="auto", recipe_version=1, test_accuracy={"best": 12.25, "last": 12.34})
    text = results_text(nothing, Path("docs"), outdated={"default": [old]})
    listed = text.split("### Runs with version 1 of the recipe, which count nowhere")[1]
    assert "12.34" in listed and text.count("12.34") == 1
    assert "every cell below is missing" in text


def test_records_of_another_dataset_are_said_not_to_be_the_papers(record: Callable[..., dict[str, Any]]) -> None:
    nothing: dict[str, list[Any]] = {name: [] for name in STUDIES}
    for datasets in (["digits"], ["cifar10", "digits"]):
        made = [record(dataset=name, seed=seed) for seed, name in enumerate(datasets)]
        text = results_text({**nothing, "table3": made}, Path("docs"))
        assert text.count("not the paper's experiment: ours is the dataset digits") == 1
    assert "not the paper's" not in results_text({**nothing, "table3": [record()]}, Path("docs"))


def test_a_file_that_is_no_record_is_named(tmp_path: Path, record: Callable[..., dict[str, Any]]) -> None:
    (tmp_path / "table3").mkdir()
    torn = {name: value for name, value in record().items() if name not in ("cell", "seconds")}
    (tmp_path / "table3/mine.json").write_text(json.dumps(torn))
    with pytest.raises(PencilError, match=r"mine\.json is no record of a run \(it lacks cell, seconds\); restore it"):
        read_records(tmp_path, "table3")


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"seed": "x"}, "seed"),
        ({"seconds": "x"}, "seconds"),
        ({"system": None}, "system"),
        ({"environment": []}, "environment"),
        ({"recipe_version": "x"}, "recipe_version"),
        ({"asked": []}, "asked"),
        ({"test_accuracy": "x"}, "test_accuracy"),
        ({"test_accuracy": 87.5}, "test_accuracy"),
        ({"detection": 0.9}, "detection"),
        ({"test_accuracy": {"best": math.nan, "last": 3.0}}, "test_accuracy"),
        ({"series": {}}, "series"),
        ({"series": {"label_accuracy": [1.0]}}, "series"),
    ],
)
def test_a_record_with_a_value_that_none_has_is_named(
    changed: dict[str, Any], named: str, tmp_path: Path, record: Callable[..., dict[str, Any]]
) -> None:
    (tmp_path / "table3").mkdir()
    (tmp_path / "table3/mine.json").write_text(json.dumps(record(**changed)))
    with pytest.raises(PencilError, match=rf"mine\.json is no record of a run \(its {named} cannot be that\); restore"):
        read_records(tmp_path, "table3")


@pytest.mark.parametrize(("text", "why"), [('{"seed": 0', "delimiter"), ("[]", "no JSON object")])
def test_a_torn_record_is_to_be_removed(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "table3").mkdir()
    (tmp_path / "table3/mine.json").write_text(text)
    with pytest.raises(PencilError, match=rf"mine\.json is no record of a run \(.*{why}.*\); .*, or remove it"):
        read_records(tmp_path, "table3")


def test_a_record_of_settings_that_are_none_here_is_named(
    tmp_path: Path, record: Callable[..., dict[str, Any]]
) -> None:
    (tmp_path / "table3").mkdir()
    gone = record(asked={"method": "pencil", "optimizer": {"warmth": 1}})
    (tmp_path / "table3/mine.json").write_text(json.dumps(gone))
    said = r'mine\.json has settings that are none here \(.*"optimizer\.warmth".*\); remove it, or .* with --force'
    with pytest.raises(PencilError, match=said):
        read_records(tmp_path, "table3")
    # One of another version of its recipe is compared with nothing.
    (tmp_path / "table3/mine.json").write_text(json.dumps(gone | {"recipe_version": 0}))
    assert len(read_records(tmp_path, "table3", outdated=True)) == 1


def test_a_copy_of_a_record_is_no_second_trial(tmp_path: Path, record: Callable[..., dict[str, Any]]) -> None:
    (tmp_path / "table3").mkdir()
    for name in ("pencil", "pencil-copy"):
        (tmp_path / f"table3/{name}.json").write_text(json.dumps(record()))
    with pytest.raises(PencilError, match=r"pencil-copy\.json and .*pencil\.json are records of one trial"):
        read_records(tmp_path, "table3")
    # One of another version of its recipe counts nowhere.
    (tmp_path / "table3/pencil-copy.json").write_text(json.dumps(record(recipe_version=0)))
    assert len(read_records(tmp_path, "table3")) == 1


def test_a_figures_record_shows_counts_and_the_picture(record: Callable[..., dict[str, Any]]) -> None:
    series = {"label_accuracy": [37.0, 50.0, 70.0, 87.0, 87.0, 87.0], "test_accuracy": [1.0] * 6}
    text = results_text({**{name: [] for name in STUDIES}, "table3": [record(series=series)]}, Path("docs"))
    assert "seed 0: 16,650 at the start, 39,150 at the end of 45,000" in text
    assert "(images/figure2.svg)" in text
    assert "every cell below is missing" not in text


def test_speed_is_what_the_benchmarks_say() -> None:
    measured = {
        "backbone": "mlp", "images_per_second": 52_877.4, "command": "pencil bench --batch-size 64",
        "rates": {"10 runs at once, together": 9.0, "2 runs at once, together": 71_636.4, "limit by FLOPs": 1e5},
        "ratios": {"label learning against cross entropy": 0.9704}, "environment": {"commit": "0123456789"},
        "seconds": {"process to first step, compiling": 84.1, "process to first step, compiled before": 26.7},
    }  # fmt: skip
    nothing = {name: [] for name in STUDIES}
    text = results_text(nothing, Path("docs"), [measured, {"table": "of another kind"}])
    row = [cell.strip() for cell in text.splitlines()[-1].strip("|").split("|")]
    assert row == [
        "mlp",
        "",
        "64",
        "52,877",
        "2: 71,636; 10: 9",
        "100,000",
        "–",
        "0.970",
        "–",
        "84, 27",
        "–",
        "0123456",
    ]
    assert "## Speed" not in results_text(nothing, Path("docs"))
