"""A gallery of images with what was written on them and what is believed."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from numpy.typing import NDArray

from pencil.figures.style import COLOURS, look


def draw_gallery(images: Sequence[NDArray[Any]], given: Sequence[str], corrected: Sequence[str]) -> Figure:
    """Draw one row of images [H, W, C] titled given → corrected."""
    with look():
        figure = Figure(figsize=(0.95 * len(images), 1.25), layout="constrained")
        for place, image in enumerate(images):
            axes = figure.add_subplot(1, len(images), place + 1)
            axes.imshow(image.squeeze(), cmap="gray_r", interpolation="nearest")
            axes.set_axis_off()
            colour = COLOURS[1] if given[place] != corrected[place] else "black"
            axes.set_title(f"{given[place]} → {corrected[place]}", fontsize=10, color=colour, loc="center")
        return figure
