"""The transition matrix: which class is given the label of which."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from pencil.figures.style import GIVEN, GRID, INK, MUTED, look, panel, plain_text

_WRITTEN = 12
"""Up to so many classes each cell has its number."""
_DEEPEST = 0.5
"""Depth of the strongest colour: numbers stay legible on it, on light pages and on dark ones."""


def draw_transition(transition_CC: NDArray[Any], names: Sequence[str]) -> Figure:
    """Draw percent of each believed class (row) by given label (column); confusions in colour, agreement in grey."""
    count = len(names)
    side = 2.3 + 0.34 * count if count <= _WRITTEN else 2.6 + 0.21 * count
    with look():
        figure, axes = panel(side, side - 0.3)
        strongest = max(float(np.nan_to_num(transition_CC - np.diag(np.diag(transition_CC))).max()), 1e-9)
        for row in range(count):
            for column in range(count):
                _cell(axes, row, column, float(transition_CC[row, column]), strongest, written=count <= _WRITTEN)
        _name_sides(axes, [plain_text(name, 14) for name in names])
        return figure


def _cell(axes: Axes, row: int, column: int, share: float, strongest: float, *, written: bool) -> None:
    same = row == column
    depth = 0.0 if np.isnan(share) else 0.3 * share if same else _DEEPEST * share / strongest
    place = (column - 0.47, row - 0.47)
    axes.add_patch(Rectangle(place, 0.94, 0.94, facecolor="none", edgecolor=GRID, linewidth=0.6))
    if depth > 0.01:
        axes.add_patch(Rectangle(place, 0.94, 0.94, facecolor=INK if same else GIVEN, alpha=depth, linewidth=0))
    if written and not np.isnan(share) and share >= 0.0005:
        text = f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.1f}"
        axes.text(column, row, text, ha="center", va="center_baseline", fontsize=8.5, color=INK)


def _name_sides(axes: Axes, names: Sequence[str]) -> None:
    places, count = range(len(names)), len(names)
    size = 9 if count <= _WRITTEN else 7.5
    upright = max(len(name) for name in names) > 3
    axes.set_xticks(places, names, parse_math=False, fontsize=size, color=INK, rotation=90 if upright else 0)
    axes.set_yticks(places, names, parse_math=False, fontsize=size, color=INK)
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("given label", color=MUTED)
    axes.set_ylabel("believed class", color=MUTED)
