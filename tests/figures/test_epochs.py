"""Lines over the epochs: every value is drawn, phases are marked, names do not cover each other."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pencil.figures.epochs import Line, Stretch, draw_epochs, spread
from pencil.figures.panels import draw_panels
from pencil.figures.style import ACCENT, GIVEN, render

PHASES = [Stretch("backbone", 1, 4), Stretch("labels", 5, 10)]


def test_lines_have_every_value_and_a_name_at_the_end() -> None:
    values = [10.0, 20, 30, 40, 50, 60, 70, 80, 90, 95.5]
    axes = draw_epochs([Line("test", range(1, 11), values, ACCENT)], PHASES, unit="%").axes[0]
    assert axes.lines[0].get_ydata().tolist() == values and axes.lines[0].get_xdata().tolist() == list(range(1, 11))
    words = [text.get_text() for text in axes.texts]
    assert "test 95.5%" in words and "backbone" in words and "labels" in words


def test_broken_lines_start_anew_with_each_phase() -> None:
    axes = draw_epochs([Line("loss", range(1, 11), [1.0] * 10, ACCENT)], PHASES, broken=True).axes[0]
    assert [len(line.get_xdata()) for line in axes.lines] == [4, 6]


def test_one_epoch_is_a_dot() -> None:
    axes = draw_epochs([Line("test", [1], [50.0], ACCENT)], [Stretch("training", 1, 1)]).axes[0]
    assert axes.lines[0].get_marker() == "o" and axes.get_xlim() == (0.5, 1.5)


def test_a_phase_too_short_for_its_name_has_none() -> None:
    phases = [Stretch("backbone", 1, 1), Stretch("labels", 2, 100)]
    axes = draw_epochs([Line("test", range(1, 101), [1.0] * 100, ACCENT)], phases).axes[0]
    assert [text.get_text() for text in axes.texts if text.get_text() in ("backbone", "labels")] == ["labels"]


def test_equal_ends_are_named_apart() -> None:
    lines = [Line(name, range(1, 11), [50.0] * 10, GIVEN) for name in ("a", "b", "c")]
    axes = draw_epochs(lines, PHASES).axes[0]
    heights = sorted(text.xy[1] for text in axes.texts if text.xy[0] == pytest.approx(1.015))
    assert len(heights) == 3 and min(b - a for a, b in itertools.pairwise(heights)) > 0.08


@given(st.lists(st.floats(0, 1), max_size=8))
def test_places_are_moved_apart_and_keep_their_order(places: list[float]) -> None:
    moved = spread(places, 0.1)
    assert all(place <= 1 + 1e-9 for place in moved)
    ordered = sorted(range(len(places)), key=lambda number: (places[number], number))
    assert all(moved[b] - moved[a] >= 0.1 - 1e-9 for a, b in itertools.pairwise(ordered))


def test_a_run_without_epochs_has_an_empty_picture() -> None:
    assert render(draw_panels([], {}), "png")
