"""How a score from 0 to 1 is distributed, by decision, with the threshold between them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from pencil.figures.style import CORRECTED, DOUBT, INK, MUTED, look, panel, short_number

BINS = 40
COLOURS = {"keep": MUTED, "relabel": CORRECTED, "review": DOUBT}
_EDGES = {"left": 0.105, "right": 0.98, "bottom": 0.16, "top": 0.9}


def draw_histogram(
    values: Mapping[str, NDArray[Any]], *, label: str, threshold: float, sides: tuple[str, str]
) -> Figure:
    """Draw stacked counts of each decision's values; `sides` say what lies left and right of the threshold."""
    with look():
        figure, axes = panel(5.0, 2.7, _EDGES)
        base = np.zeros(BINS)
        for name, numbers in values.items():
            counts, _ = np.histogram(numbers[np.isfinite(numbers)], bins=BINS, range=(0, 1))
            if counts.any():
                axes.add_collection(_bars(base, counts, COLOURS[name], name))
            base += counts
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.22 * max(base.max(), 1))
        axes.set_xlabel(label)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        axes.yaxis.set_major_formatter(lambda value, _: short_number(value))
        axes.grid(axis="x", visible=False)
        axes.spines["left"].set_visible(False)
        _mark(axes, threshold, sides)
        if base.any():
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0, borderpad=0.4, fontsize=9)
        return figure


def _bars(base: NDArray[Any], counts: NDArray[Any], colour: str, name: str) -> PolyCollection:
    width = 1 / BINS
    bars = [
        [(x, low), (x + 0.92 * width, low), (x + 0.92 * width, low + count), (x, low + count)]
        for x, low, count in zip(np.arange(BINS) * width, base, counts, strict=True)
        if count
    ]
    return PolyCollection(bars, facecolor=colour, linewidth=0, label=name)


def _mark(axes: Axes, threshold: float, sides: tuple[str, str]) -> None:
    axes.axvline(threshold, color=INK, linewidth=1.1, linestyle=(0, (4, 3)))
    for text, shift, anchor in ((f"{sides[0]} ◂", -5, "right"), (f"▸ {sides[1]}", 5, "left")):
        axes.annotate(
            text, (threshold, 0.985), xycoords=("data", "axes fraction"), xytext=(shift, 0),
            textcoords="offset points", ha=anchor, va="top", fontsize=8.5, color=INK,
        )  # fmt: skip
