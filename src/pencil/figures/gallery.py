"""A gallery of examples with what was written on them and what is believed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pencil.figures.style import CORRECTED, GIVEN, MUTED, look, plain_text

COLUMNS = 6
LETTERS = 18
"""Letters of a name that fit above an image."""


def draw_gallery(images: Sequence[NDArray[Any]], given: Sequence[str], corrected: Sequence[str]) -> Figure:
    """Draw images [H, W] or [H, W, 1, 3 or 4] in rows, the given label above each and the believed one under it."""
    rows = max(-(-len(images) // COLUMNS), 1)
    with look():
        figure = Figure(figsize=(1.5 * COLUMNS, 1.9 * rows))
        # Known margins: finding them would take longer than drawing.
        figure.subplots_adjust(left=0, right=1, bottom=0.2 / rows, top=1 - 0.25 / rows, wspace=0.05, hspace=0.35)
        figure.suptitle("given label above, believed label below", fontsize=9, color=MUTED, y=0.99)
        for place, image in enumerate(images):
            axes = figure.add_subplot(rows, COLUMNS, place + 1)
            grey = image.ndim == 3 and image.shape[-1] == 1
            # Black and white are those of the format, not the darkest and the lightest grey of this image.
            white = 255 if image.dtype == np.uint8 else 1
            axes.imshow(image[..., 0] if grey else image, cmap="gray", vmin=0, vmax=white, interpolation="nearest")
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(False)
            same = given[place] == corrected[place]
            axes.set_title(
                plain_text(given[place], LETTERS), fontsize=9, color=MUTED if same else GIVEN, loc="center",
                fontweight="normal", parse_math=False,
            )  # fmt: skip
            axes.set_xlabel(
                plain_text(corrected[place], LETTERS), fontsize=9, color=MUTED if same else CORRECTED, parse_math=False
            )
        return figure
