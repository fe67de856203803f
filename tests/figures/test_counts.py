"""The figures of labels: what is drawn is what was counted."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from pencil.figures.balance import draw_balance
from pencil.figures.gallery import draw_gallery
from pencil.figures.histogram import draw_histogram
from pencil.figures.style import plain_text, render, short_number, width_of
from pencil.figures.transition import draw_transition

ODD = ["a $x", "名前", "<b>&</b>", "_^{\\frac", "x" * 90]


def written(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_a_matrix_has_the_percent_of_each_cell() -> None:
    figure = draw_transition(np.array([[0.9, 0.1], [0.025, 0.975]]), ["cat", "dog"])
    assert written(figure) == ["90", "10", "2.5", "98"]


@pytest.mark.parametrize("shape", [(1, 8), (8, 1), (1, 8, 1), (1, 8, 3), (1, 1, 1), (8, 8, 4)])
def test_an_image_of_one_row_or_column_is_drawn_as_it_is(shape: tuple[int, ...]) -> None:
    (axes,) = draw_gallery([np.zeros(shape, dtype=np.uint8)], ["cat"], ["dog"]).axes
    assert axes.images[0].get_size() == shape[:2]


@pytest.mark.parametrize("shape", [(2, 2), (2, 2, 1)])
@pytest.mark.parametrize("light", [np.uint8(204), np.float32(0.8)])
def test_a_grey_image_keeps_its_grey(light: np.generic, shape: tuple[int, ...]) -> None:
    (axes,) = draw_gallery([np.full(shape, light)], ["cat"], ["dog"]).axes
    assert (axes.images[0].to_rgba(axes.images[0].get_array(), bytes=True)[..., :3] == 204).all()


def test_a_class_without_examples_stays_empty() -> None:
    assert written(draw_transition(np.array([[1.0, 0.0], [np.nan, np.nan]]), ["cat", "dog"])) == ["100"]


def test_a_matrix_without_confusions_can_be_drawn() -> None:
    assert b"<svg" in render(draw_transition(np.eye(3), ["a", "b", "c"]), "svg")


@pytest.mark.parametrize("count", [12, 13, 30])
def test_large_matrices_leave_the_numbers_out(count: int) -> None:
    shares = np.full((count, count), 1 / count)
    assert len(written(draw_transition(shares, [str(n) for n in range(count)]))) == (count**2 if count <= 12 else 0)


def test_balance_shows_both_counts() -> None:
    axes = draw_balance(["cat", "dog"], [10, 30], [25, 15]).axes[0]
    corrected, given = (dots.get_offsets()[:, 0].tolist() for dots in axes.collections[1:])
    assert (given, corrected) == ([10, 30], [25, 15])


def test_bars_stack_to_all_examples() -> None:
    values = {"keep": np.array([0.9, 0.91, 1.0]), "relabel": np.array([0.0, 0.9]), "review": np.array([np.nan])}
    axes = draw_histogram(values, label="quality", threshold=0.5, sides=("doubted", "kept")).axes[0]
    paths = [path.vertices for group in axes.collections for path in group.get_paths()]
    tops = {round(float(corners[:, 0].min()), 3): float(corners[:, 1].max()) for corners in paths}
    # 0.9 is the lower edge of its bar: two kept and, on top of them, one relabelled.
    assert tops == {0.0: 1, 0.9: 3, 0.975: 1}


def test_nothing_to_count_can_be_drawn() -> None:
    empty = {"keep": np.array([]), "relabel": np.array([]), "review": np.array([])}
    assert b"<svg" in render(draw_histogram(empty, label="q", threshold=0.5, sides=("a", "b")), "svg")
    assert b"<svg" in render(draw_balance(["cat", "dog"], [0, 0], [0, 0]), "svg")


@pytest.mark.filterwarnings("ignore:Glyph")
def test_odd_names_are_text_and_nothing_else() -> None:
    for figure in (draw_transition(np.eye(5), ODD), draw_balance(ODD, [1] * 5, [2] * 5)):
        svg = render(figure, "svg").decode()
        assert "a $x" in svg and "&lt;b&gt;&amp;" in svg and "<b>" not in svg


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("cat", "cat"),
        ("a\nb\x00", "a b\ufffd"),
        ("abcdefghij", "abc…hij"),
        ("\u202ex", "\ufffdx"),
        ("می\u200cرود", "می\u200cرود"),
    ],
)
def test_names_are_made_fit_for_a_figure(name: str, shown: str) -> None:
    assert plain_text(name, 7) == shown


def test_wide_letters_take_more_room() -> None:
    assert width_of("名前", 9) > width_of("ab", 9) > 0


@pytest.mark.parametrize(
    ("value", "shown"), [(0.25, "0.25"), (9500, "9,500"), (25_000, "25k"), (1_500_000, "1.5M"), (0, "0")]
)
def test_large_numbers_are_short(value: float, shown: str) -> None:
    assert short_number(value) == shown
