"""How many examples each class has by its given and by its corrected labels."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pencil.figures.style import CORRECTED, GIVEN, INK, MUTED, look, panel, plain_text, short_number, width_of

WIDTH = 5.0


def draw_balance(names: Sequence[str], given: Sequence[int], corrected: Sequence[int]) -> Figure:
    """Draw one row a class: an open dot for the given labels, a full one for the corrected ones, a line between."""
    rows = np.arange(len(names))
    with look():
        figure, axes = _frame([plain_text(name, 18) for name in names])
        axes.hlines(rows, given, corrected, color=MUTED, linewidth=1.2, zorder=2)
        axes.scatter(corrected, rows, s=38, color=CORRECTED, zorder=3, label="corrected")
        axes.scatter(given, rows, s=38, facecolors="none", edgecolors=GIVEN, linewidths=1.5, zorder=4, label="given")
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlim(*_limits([*given, *corrected]))
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
        axes.set_xlabel("examples")
        _tidy(axes)
        return figure


def _frame(names: Sequence[str]) -> tuple[Figure, Axes]:
    tall, left = 0.85 + 0.24 * len(names), 0.12 + max(width_of(name, 9) for name in names)
    edges = {"left": left / WIDTH, "right": 0.98, "bottom": 0.42 / tall, "top": 1 - 0.27 / tall}
    figure, axes = panel(WIDTH, tall, edges)
    axes.set_yticks(range(len(names)), names, parse_math=False, color=INK)
    return figure, axes


def _tidy(axes: Axes) -> None:
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0, handletextpad=0.3, borderpad=0.4, fontsize=9
    )


def _limits(counts: Sequence[int]) -> tuple[float, float]:
    """Return the ends of the axis: from zero, unless the counts lie close together far from it."""
    low, high = min(counts), max(1, *counts)
    margin = 0.08 * (high - low if low > high / 2 else high) or 1
    return (low - margin if low > high / 2 else 0, high + margin)
