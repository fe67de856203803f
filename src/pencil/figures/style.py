"""One look for all figures."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from unicodedata import east_asian_width

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, MUTED, GRID = "#1f2430", "#6b7280", "#e5e7eb"
COLOURS = ("#d1495b", "#00798c", "#edae49", "#30638e", "#8f5fbf", "#5f8f3f")
SHADES = ("#f6f7f9", "#eef1f5", "#f6f7f9")
GIVEN, CORRECTED, ACCENT, DOUBT = "#9a3412", "#14623b", "#1f5fbf", "#b7791f"
"""What a colour means wherever it appears: the given label, the corrected one, the network, doubt."""

SETTINGS: dict[Any, Any] = {
    "font.size": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "svg.fonttype": "none",
    # Equal figures give equal files.
    "svg.hashsalt": "pencil",
}


@contextmanager
def look() -> Iterator[None]:
    """Draw in the project's style."""
    with mpl.rc_context(SETTINGS):
        yield


def panel(width: float, height: float, edges: dict[str, float]) -> tuple[Figure, Axes]:
    """Return a figure of one panel with these margins, on no ground of its own so that it suits any page."""
    # Margins that are known need no layout, which would draw everything twice.
    figure = Figure(figsize=(width, height), facecolor="none")
    axes = figure.add_subplot(facecolor="none")
    figure.subplots_adjust(**edges)
    axes.tick_params(length=0, labelsize=9)
    axes.xaxis.label.set_fontsize(9)
    axes.yaxis.label.set_fontsize(9)
    return figure, axes


def render(figure: Figure, kind: str, *, trim: bool = True) -> bytes:
    """Return a figure as the bytes of an svg or png file; untrimmed it keeps the size it was made with."""
    buffer = BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with look():
        figure.savefig(buffer, format=kind, dpi=150, bbox_inches="tight" if trim else None, metadata=metadata)
    return buffer.getvalue()


_JOINERS = "\u200c\u200d"
"""Parts of words in some scripts, though nothing is printed for them."""


def plain_text(text: str, most: int) -> str:
    """Return a name fit for a figure: one printable line, shortened in the middle where it is long."""
    letters = " ".join(text.split())
    line = "".join(letter if letter.isprintable() or letter in _JOINERS else "\ufffd" for letter in letters)
    return line if len(line) <= most else f"{line[: (most - 1) // 2]}…{line[len(line) - most // 2 :]}"


def width_of(text: str, size: float) -> float:
    """Return about how many inches a text takes at a size in points; letters of wide scripts take twice the room."""
    return sum(1.0 if east_asian_width(letter) in "WF" else 0.62 for letter in text) * size / 72


def short_number(value: float) -> str:
    """Write a number on an axis: thousands from 10k on, millions from 1M on."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:g}{letter}"
    return f"{value:g}" if abs(value) < 1000 else f"{value:,.0f}"
