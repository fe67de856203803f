"""How a score from 0 to 1 is distributed, by decision, with the threshold between them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from pencil.figures.style import CORRECTED, DOUBT, INK, MUTED, look, panel

BINS = 40
COLOURS = {"keep": MUTED, "relabel": CORRECTED, "review": DOUBT}


def draw_histogram(
    values: Mapping[str, NDArray[Any]], *, label: str, threshold: float, sides: tuple[str, str]
) -> Figure:
    """Draw stacked counts of each decision's values; `sides` say what lies left and right of the threshold."""
    edges = np.linspace(0, 1, BINS + 1)
    with look():
        figure, axes = panel(5.0, 2.7)
        base = np.zeros(BINS)
        for name, numbers in values.items():
            counts, _ = np.histogram(numbers[np.isfinite(numbers)], bins=edges)
            if counts.any():
                axes.bar(edges[:-1], counts, 0.92 / BINS, bottom=base, align="edge", color=COLOURS[name], label=name)
            base += counts
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.22 * max(base.max(), 1))
        axes.set_xlabel(label)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.grid(axis="x", visible=False)
        axes.spines["left"].set_visible(False)
        _mark(axes, threshold, sides)
        if base.any():
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0, borderpad=0.4, fontsize=9)
        return figure


def _mark(axes: Axes, threshold: float, sides: tuple[str, str]) -> None:
    axes.axvline(threshold, color=INK, linewidth=1.1, linestyle=(0, (4, 3)))
    for text, shift, anchor in ((f"{sides[0]} ◂", -5, "right"), (f"▸ {sides[1]}", 5, "left")):
        axes.annotate(
            text, (threshold, 0.985), xycoords=("data", "axes fraction"), xytext=(shift, 0),
            textcoords="offset points", ha=anchor, va="top", fontsize=8.5, color=INK,
        )  # fmt: skip
