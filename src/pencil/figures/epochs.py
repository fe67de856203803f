"""One quantity of one run over its epochs: named lines, with the phases marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pencil.figures.style import INK, MUTED, SHADES, look, panel, short_number

WIDTH, HEIGHT = 5.0, 2.6
_EDGES = {"left": 0.105, "right": 0.74, "bottom": 0.17, "top": 0.9}
"""The same for every panel, so that panels above each other share their epochs."""
_LETTER = 0.0165
"""Width of a small letter, as a share of the panel."""
_LINE = 0.09
"""Height of a line of text, as a share of the panel."""


@dataclass(frozen=True)
class Stretch:
    """The epochs of one phase, counted from 1."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class Line:
    """One quantity at some epochs, counted from 1."""

    name: str
    epochs: Sequence[int]
    values: Sequence[float]
    colour: str
    style: str = "-"


def draw_epochs(lines: Sequence[Line], phases: Sequence[Stretch], *, unit: str = "", broken: bool = False) -> Figure:
    """Draw lines named at their ends; `broken` ones start anew with each phase, where a loss is another one."""
    with look():
        figure, axes = panel(WIDTH, HEIGHT, _EDGES)
        fill(axes, lines, phases, unit=unit, broken=broken)
        return figure


def fill(axes: Axes, lines: Sequence[Line], phases: Sequence[Stretch], *, unit: str, broken: bool) -> None:
    """Draw lines and phases into axes."""
    for line in lines:
        for stretch in phases if broken else [Stretch("", 1, 10**9)]:
            _draw(axes, line, stretch)
    last = max((phase.last for phase in phases), default=1)
    axes.set_xlim(0.5, last + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("epoch")
    axes.yaxis.set_major_formatter(lambda value, _: f"{short_number(value)}{unit}")
    _widen(axes, least=4 if unit else 0)
    axes.spines["left"].set_visible(False)
    _mark_phases(axes, phases)
    _name_ends(axes, [line for line in lines if line.values], unit)


def _draw(axes: Axes, line: Line, stretch: Stretch) -> None:
    points = [(e, v) for e, v in zip(line.epochs, line.values, strict=True) if stretch.first <= e <= stretch.last]
    if points:
        # One point alone makes no line.
        marker = "o" if len(points) == 1 else ""
        axes.plot(*zip(*points, strict=True), color=line.colour, linestyle=line.style, marker=marker, linewidth=1.8)


def _widen(axes: Axes, least: float) -> None:
    """Keep a difference of nothing from looking like one."""
    low, high = axes.get_ylim()
    if high - low < least:
        middle = (low + high) / 2
        axes.set_ylim(middle - least / 2, middle + least / 2)


def _mark_phases(axes: Axes, phases: Sequence[Stretch]) -> None:
    total = max((phase.last for phase in phases), default=1)
    for number, phase in enumerate(phases):
        if number % 2:
            axes.axvspan(phase.first - 0.5, phase.last + 0.5, color=SHADES[1], zorder=0, linewidth=0)
        if (phase.last - phase.first + 1) / total > _LETTER * (len(phase.name) + 2):
            place = (phase.first + phase.last) / 2
            axes.annotate(
                phase.name, (place, 1.03), xycoords=("data", "axes fraction"), ha="center", va="bottom",
                fontsize=8.5, color=MUTED, annotation_clip=False, parse_math=False,
            )  # fmt: skip


def _name_ends(axes: Axes, lines: Sequence[Line], unit: str) -> None:
    """Write each line's name and last value beside its end, no two over each other."""
    low, high = axes.get_ylim()
    tall = (high - low) or 1.0
    places = spread([(line.values[-1] - low) / tall for line in lines], _LINE)
    for line, place in zip(lines, places, strict=True):
        value = line.values[-1]
        shown = f"{value:,.0f}" if value == int(value) and not unit else f"{value:.3g}{unit}"
        axes.annotate(
            f"{line.name} {shown}", (1.015, place), xycoords="axes fraction", va="center", fontsize=9,
            color=line.colour if line.colour != MUTED else INK, annotation_clip=False,
        )  # fmt: skip


def spread(places: Sequence[float], gap: float, top: float = 1.0) -> list[float]:
    """Move places apart, as little as needed and none above the top, so that neighbours are a gap apart."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved = [places[number] for number in order]
    for lower, upper in pairwise(range(len(moved))):
        moved[upper] = max(moved[upper], moved[lower] + gap)
    for number in reversed(range(len(moved))):
        ceiling = top if number == len(moved) - 1 else moved[number + 1] - gap
        moved[number] = min(moved[number], ceiling)
    found = [0.0] * len(places)
    for number, place in zip(order, moved, strict=True):
        found[number] = place
    return found
