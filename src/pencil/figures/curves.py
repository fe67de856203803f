"""Curves over the epochs: test accuracy and correct labels, with the phases marked."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pencil.figures.style import COLOURS, MUTED, SHADES, look

History = Sequence[Mapping[str, Any]]
PANELS = {"test_accuracy": "Test accuracy (%)", "label_accuracy": "Correct training labels (%)"}


def draw_curves(histories: Mapping[str, History], *, phases_of: str | None = None) -> Figure:
    """Draw what is known of each run over its epochs; shades mark the phases of one of them."""
    panels = [key for key in PANELS if any(key in record for h in histories.values() for record in h)]
    with look():
        figure = Figure(figsize=(4.6 * max(len(panels), 1), 3.2), layout="constrained")
        for place, key in enumerate(panels):
            axes = figure.add_subplot(1, len(panels), place + 1)
            _panel(axes, histories, key, histories.get(phases_of or ""))
        return figure


def _panel(axes: Axes, histories: Mapping[str, History], key: str, phased: History | None) -> None:
    if phased:
        shade_phases(axes, phased)
    for (name, history), colour in zip(histories.items(), COLOURS, strict=False):
        points = [(record["epoch"] + 1, record[key]) for record in history if key in record]
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, label=name, linewidth=1.8)
    axes.set_title(PANELS[key])
    axes.set_xlabel("epoch")
    axes.legend(loc="center right")


def shade_phases(axes: Axes, history: History) -> None:
    """Shade each phase of a run and write its name at the top."""
    for number, (phase, records) in enumerate(groupby(history, key=lambda record: record["phase"])):
        epochs = [record["epoch"] for record in records]
        axes.axvspan(epochs[0] + 0.5, epochs[-1] + 1.5, color=SHADES[number % len(SHADES)], zorder=0, linewidth=0)
        place = (epochs[0] + epochs[-1]) / 2 + 1
        axes.annotate(
            str(phase), (place, 1.0), xycoords=("data", "axes fraction"), ha="center", va="top", fontsize=8, color=MUTED
        )
