"""One look for all figures."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

INK, MUTED, GRID = "#1f2430", "#6b7280", "#e5e7eb"
COLOURS = ("#d1495b", "#00798c", "#edae49", "#30638e", "#8f5fbf", "#5f8f3f")
SHADES = ("#f6f7f9", "#eef1f5", "#f6f7f9")

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


def render(figure: Figure, kind: str) -> bytes:
    """Return a figure as the bytes of an svg or png file."""
    buffer = BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with look():
        figure.savefig(buffer, format=kind, dpi=150, bbox_inches="tight", metadata=metadata)
    return buffer.getvalue()
