"""Tables: ours beside the paper's; what is missing stays missing."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pencil.reproduce.compare import compare
from pencil.reproduce.output import study_page
from pencil.reproduce.page import Grid, Heading, html, markdown
from pencil.reproduce.record import portable
from pencil.reproduce.studies import SCHEDULES, SPLIT, STUDIES, SYMMETRIC
from pencil.reproduce.tables import comparison, csv_text, runs
from pencil.reproduce.trial import Wanted, plan_trials
from pencil.results.timing import seconds_compiled

Make = Callable[..., dict[str, Any]]


@pytest.fixture
def three(record: Make) -> list[dict[str, Any]]:
    """Three trials of PENCIL at 70% symmetric noise: 86, 87 and 88 last."""
    return [record(seed=seed, test_accuracy={"best": 87.1, "last": 86.0 + seed}) for seed in range(3)]


def _rows(study: str, records: list[dict[str, Any]]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_text(STUDIES[study], records))))


def test_a_page_says_what_its_list_of_runs_is_read_by(three: list[dict[str, Any]]) -> None:
    assert str(study_page(STUDIES["table3"], three)[-1]).startswith("Each line is one run; compiled is its time")
    assert not any("compiled" in str(part) for part in study_page(STUDIES["table3"], []))


def test_mean_spread_trials_and_difference(three: list[dict[str, Any]]) -> None:
    line = next(line for line in compare(STUDIES["table3"], three) if line.system.name == "pencil")
    entry = next(entry for entry in line.of("last") if entry.cell.name == "symmetric-70")
    # 86, 87, 88: mean 87, sample standard deviation 1; the paper has 87.18.
    assert (entry.mean, entry.spread, len(entry.ours)) == (87.0, 1.0, 3)
    assert entry.difference == pytest.approx(-0.18)


def test_one_trial_has_no_spread(record: Make) -> None:
    (found,) = [row for row in _rows("table3", [record()]) if row["trials"] == "1" and row["measure"] == "last"]
    assert (found["ours"], found["ours_std"], found["difference"]) == ("87.50", "", "0.32")


def test_missing_cells_are_shown_as_missing(three: list[dict[str, Any]]) -> None:
    grid = comparison(STUDIES["table3"], three)[-1]
    assert isinstance(grid, Grid)
    ours = [row for row in grid.rows if row[2] == "ours"]
    assert [cell for row in ours for cell in row[3:]].count("missing") == 3 * 2 * 5 - 2
    assert ours[-1][3:] == ("missing", "missing", "missing", "87.00 ± 1.00 (3)", "missing")


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({}, None),
        ({"places": {"data": {"root": "somewhere"}, "hardware": {"threads": 1}}}, None),
        ({"epochs": 32}, r"other settings \(epochs\)\. .* may all stay as given\."),
        ({"backbone": "mlp"}, r"other settings \(backbone\)\."),
        ({"quick": True}, r"other settings \(backbone, backbone_options.width, epochs\)\. "),
        ({"settings": {"phases": {"labels": {"lr": "0.2"}}}}, r"other settings \(phases.labels.lr\)\."),
    ],
)
def test_other_settings_than_those_of_the_table_are_told(
    record: Make, wanted: dict[str, Any], told: str | None
) -> None:
    study = STUDIES["table3"]
    trials = plan_trials(study, cells=["symmetric-70"], systems=["pencil"], trials=2, wanted=Wanted(**wanted))
    others = [record(asked={"phases": {}}, system="mine"), record(asked={"phases": {}}, cell="gone")]
    made = [record(asked=portable(trial.document), seed=trial.seed) for trial in trials]
    said = [part for part in comparison(study, [*made, *others]) if isinstance(part, str) and "Not all of" in part]
    assert bool(said) == bool(told)
    assert not told or re.fullmatch(
        f"Not all of ours are this table's experiment: they were run with {told}.*", said[0]
    )


def test_nothing_measured_gives_no_number(record: Make) -> None:
    assert {(row["ours"], row["trials"], row["difference"]) for row in _rows("table2", [])} == {("", "0", "")}


def test_what_was_not_measured_is_missing(three: list[dict[str, Any]]) -> None:
    three[0]["test_accuracy"] = {"best": None, "last": 86.0}
    rows = [row for row in _rows("table3", three) if row["system"] == "pencil" and row["cell"] == "symmetric-70"]
    assert {row["measure"]: row["trials"] for row in rows} == {"best": "2", "last": "3"}


def test_a_failure_of_the_paper_has_no_difference(record: Make) -> None:
    rows = _rows("table2", [record(study="table2", cell="symmetric-80")])
    (found,) = [row for row in rows if row["trials"] == "1" and row["measure"] == "last"]
    assert (found["paper"], found["ours"], found["difference"]) == ("fail", "87.50", "")


def test_what_must_be_known_stands_beside_each_table() -> None:
    told = [part for part in comparison(STUDIES["table3"], []) if isinstance(part, str)]
    assert SYMMETRIC in told and SPLIT in told
    assert any("best:" in part and "last:" in part for part in told)
    assert any("mean of 5 trials" in part for part in told)


def test_methods_that_are_told_more_have_a_star() -> None:
    parts = comparison(STUDIES["table4"], [])
    grid = parts[-1]
    assert isinstance(grid, Grid)
    starred = {row[0] for row in grid.rows if row[0].endswith("*")}
    assert starred == {"Forward T *", "CNN-CRF *"}
    assert any(isinstance(part, str) and part.startswith("*") for part in parts)


def test_a_row_that_is_told_more_by_its_options_has_a_star_wherever_it_stands(record: Make) -> None:
    told = record(system="joint_optimization", method="joint_optimization", extra_information=True)
    parts = comparison(STUDIES["table3"], [told])
    grid = parts[-1]
    assert isinstance(grid, Grid)
    assert {row[0] for row in grid.rows if row[0].endswith("*")} == {"Joint optimization (Tanaka et al.) *"}
    assert any(isinstance(part, str) and part.startswith("*") for part in parts)
    assert {row["system"] for row in _rows("table3", [told]) if row["uses_extra_information"] == "yes"} == {
        "joint_optimization"
    }
    assert _told(told)["method"] == "joint_optimization *" and _told(record())["method"] == "pencil"
    assert _told(record(system="forward", method="forward"))["method"] == "forward *"
    quoted = [part for part in comparison(STUDIES["table2"], []) if isinstance(part, str) and "quotes from" in part]
    assert "Forward T *" in quoted[0] and "L_q *" not in quoted[0]


def test_another_dataset_is_said_not_to_be_the_papers(record: Make) -> None:
    parts = comparison(STUDIES["table3"], [record(dataset="digits")], dataset="digits")
    assert isinstance(parts[0], str) and "not the paper's experiment" in parts[0]
    assert SPLIT not in parts and SCHEDULES not in parts


def test_a_method_that_the_paper_has_not_gets_a_row(record: Make) -> None:
    rows = _rows("table3", [record(system="Mine", title="Mine", method="mine.py:Mine")])
    assert {row["paper"] for row in rows if row["system"] == "Mine"} == {""}
    rows = _rows("table3", [record(system="Mine", method="mine.py:Mine", extra_information=True)])
    assert {row["uses_extra_information"] for row in rows if row["system"] == "Mine"} == {"yes"}


def test_runs_tell_hardware_and_time(record: Make) -> None:
    assert runs([]) == []
    told = _told(record())
    assert (told["hardware"], told["minutes"], told["seed"]) == ("H200, bf16-mixed", "2.0", "0")
    assert "commit abc" in told["versions"]
    made = dict(record()["environment"], earlier=[{"commit": "0123456789abc", "device": "CPU", "until_epoch": 7}])
    assert _told(record(environment=made))["versions"].endswith("; until epoch 7 commit 0123456789 on CPU")


def _told(record: dict[str, Any]) -> dict[str, str]:
    grid = runs([record])[-1]
    assert isinstance(grid, Grid)
    return dict(zip(grid.heads, grid.rows[0], strict=True))


def test_time_without_compilation_takes_each_phase_by_its_median_epoch(record: Make) -> None:
    history = [{"phase": "one", "seconds": n} for n in (50, 2, 3)] + [{"phase": "two", "seconds": n} for n in (9, 1, 1)]
    assert seconds_compiled(history) == 9 + 3 and seconds_compiled([]) == 0
    (_, grid) = runs([record(seconds_compiled=12.4), record(seed=1)])
    assert isinstance(grid, Grid)
    shown = grid.heads.index("compiled, s")
    assert [row[shown] for row in grid.rows] == ["12", "–"]


def test_a_run_says_with_how_many_others_it_shared_the_machine(record: Make) -> None:
    (_, grid) = runs([record(at_once=3), record(seed=1)])
    assert isinstance(grid, Grid)
    assert [row[grid.heads.index("at once")] for row in grid.rows] == ["3", "–"]


def test_pages_escape_what_they_show() -> None:
    parts = [Heading("A & B"), Grid(("a|b", "<c>"), (("1", "2"),))]
    assert "a\\|b" in markdown(parts, Path())
    page = html("A & B", parts)
    assert "<h2>A &amp; B</h2>" in page and "&lt;c&gt;" in page
