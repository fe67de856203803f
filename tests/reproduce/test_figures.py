"""Figures 2 and 3: counts of correct labels over the second phase, with what the paper describes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pencil.reproduce.figures import FIGURES, correct_labels, described, draw, needs_series, write_figure
from pencil.reproduce.paper import paper_curves
from pencil.reproduce.studies import STUDIES
from pencil.reproduce.trial import Wanted, plan_trials

SERIES = {"label_accuracy": [37.0, 50.0, 70.0, 87.0, 87.0, 87.0], "test_accuracy": [1.0] * 6}
Make = Callable[..., dict[str, Any]]


def test_counts_are_those_of_the_second_phase(record: Make) -> None:
    # 37% of 45,000 before, then after each of its three epochs.
    assert correct_labels(record(series=SERIES)) == [16_650, 22_500, 31_500, 39_150]


def test_files_with_the_papers_values_marked(record: Make, tmp_path: Path) -> None:
    files = write_figure("figure2", [record(series=SERIES), record(seed=1, series=SERIES)], tmp_path)
    assert [path.name for path in files] == ["figure2.svg", "figure2.png"]
    drawn = files[0].read_text()
    assert "about 16,000 at the start" in drawn and "about 39,000 at the end" in drawn
    assert "the authors'" in drawn
    assert files[1].read_bytes().startswith(b"\x89PNG")


def test_the_papers_values_stand_where_the_paper_has_them_however_short_ours_is(record: Make) -> None:
    axes = draw("figure2", [record(series=SERIES)]).axes[0]
    marks = {(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if line.get_marker() == "o"}
    assert marks == {(0, 16_000), (130, 39_000)}, "130 epochs of label learning"


@pytest.mark.parametrize("other", [{"dataset": "digits"}, {"num_examples": 40_000}])
def test_the_papers_values_are_not_marked_on_other_data(other: dict[str, Any], record: Make, tmp_path: Path) -> None:
    files = write_figure("figure2", [record(series=SERIES, **other)], tmp_path)
    drawn = files[0].read_text()
    assert "paper" not in drawn and "authors" not in drawn


@pytest.mark.parametrize("name", FIGURES)
def test_the_authors_curves_are_counts_over_label_learning(name: str) -> None:
    curve = paper_curves()[name]
    assert len(curve.epochs) == len(curve.correct) and list(curve.epochs) == sorted(set(curve.epochs))
    assert (curve.epochs[0], curve.epochs[-1]) == (0, 129) and max(curve.correct) <= 45_000
    # No label moves before the gap between its class and another is closed.
    assert curve.correct[1] - curve.correct[0] <= 1 and curve.epochs[1] in (8, 11)


def test_what_the_authors_drew_is_told_with_what_they_wrote() -> None:
    told = (
        "about 39,000 at the end. The drawing in the authors' repository: 16,577 at the start, 39,310 after 129 epochs"
    )
    assert told in described("figure2")


def test_no_record_no_figure(record: Make, tmp_path: Path) -> None:
    assert write_figure("figure2", [record()], tmp_path) == []
    assert write_figure("figure3", [record(series=SERIES)], tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", FIGURES)
def test_only_the_cells_of_figures_keep_their_curves(name: str) -> None:
    figure = FIGURES[name]
    trials = plan_trials(STUDIES[figure.study], trials=1, wanted=Wanted())
    assert [trial.cell.name for trial in trials if needs_series(trial)] == [figure.cell]
