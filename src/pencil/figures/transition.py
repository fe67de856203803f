"""The transition matrix: which class is given the label of which."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pencil.figures.style import GIVEN, GRID, INK, MUTED, look, panel, plain_text, width_of

_WRITTEN = 12
"""Up to so many classes each cell has its number."""
_DEEPEST = 0.5
"""Depth of the strongest colour: numbers stay legible on it, on light pages and on dark ones."""
_HALF = 0.47
"""Half a cell, with a gap between neighbours."""


def draw_transition(transition_CC: NDArray[Any], names: Sequence[str]) -> Figure:
    """Draw percent of each believed class (row) by given label (column); confusions in colour, agreement in grey."""
    shares_CC = np.nan_to_num(np.asarray(transition_CC, dtype=np.float64))
    shown = [plain_text(name, 14) for name in names]
    written = len(names) <= _WRITTEN
    with look():
        axes, figure = _frame(shown, cell=0.34 if written else 0.21, size=9 if written else 7.5)
        _colour(axes, shares_CC)
        if written:
            for (row, column), share in np.ndenumerate(shares_CC):
                if share >= 0.0005:
                    text = f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.1f}"
                    axes.text(column, row, text, ha="center", va="center_baseline", fontsize=8.5, color=INK)
        return figure


def _frame(names: Sequence[str], *, cell: float, size: float) -> tuple[Axes, Figure]:
    """Return empty axes with a name for every row and column; two classes get larger cells than twelve."""
    count, longest = len(names), max(width_of(name, size) for name in names)
    upright = longest > cell
    inner, left, top = max(cell * count, 1.6), longest + 0.34, (longest if upright else 0.14) + 0.34
    wide, tall = left + inner + 0.06, top + inner + 0.06
    edges = {"left": left / wide, "right": 1 - 0.06 / wide, "bottom": 0.06 / tall, "top": 1 - top / tall}
    figure, axes = panel(wide, tall, edges)
    axes.set_xticks(range(count), names, parse_math=False, fontsize=size, color=INK, rotation=90 if upright else 0)
    axes.set_yticks(range(count), names, parse_math=False, fontsize=size, color=INK)
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("given label", color=MUTED)
    axes.set_ylabel("believed class", color=MUTED)
    return axes, figure


def _colour(axes: Axes, shares_CC: NDArray[np.float64]) -> None:
    apart = ~np.eye(len(shares_CC), dtype=bool)
    strongest = max(float(shares_CC[apart].max(initial=0)), 1e-9)
    depth_CC = np.where(apart, _DEEPEST * shares_CC / strongest, 0.3 * shares_CC)
    cells = list(np.ndindex(shares_CC.shape))
    axes.add_collection(
        PolyCollection([_square(cell) for cell in cells], facecolor="none", edgecolor=GRID, linewidth=0.6)
    )
    filled = [cell for cell in cells if depth_CC[cell] > 0.01]
    colours = [to_rgba(GIVEN if apart[cell] else INK, round(float(depth_CC[cell]), 3)) for cell in filled]
    axes.add_collection(PolyCollection([_square(cell) for cell in filled], facecolor=colours, linewidth=0))


def _square(cell: tuple[int, ...]) -> list[tuple[float, float]]:
    row, column = cell
    corners = ((-_HALF, -_HALF), (_HALF, -_HALF), (_HALF, _HALF), (-_HALF, _HALF))
    return [(column + x, row + y) for x, y in corners]
