"""X and y as scikit-learn users have them: NumPy arrays, torch tensors, data frames, lists.

Shapes: N examples; rows [N, d], grey images [N, H, W], images [N, H, W, C] or [N, C, H, W].
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data.arrays import as_inputs
from pencil.estimator.errors import InvalidInput


@dataclass(frozen=True)
class Scale:
    """What the numbers of the images a classifier was fitted on mean; later ones are read in the same way."""

    unit: bool
    """True where 1 is the brightest value, False where 255 is."""

    @classmethod
    def of(cls, images: NDArray[Any]) -> "Scale":
        highest = float(images.max())
        if highest > 255:
            raise InvalidInput(
                f"image values reach to {highest:g}; give 0 to 255 or 0 to 1, or take inputs that are no images as they"
                " are (raw=True)."
            )
        return cls(images.dtype.kind == "b" or (images.dtype.kind == "f" and highest <= 1))

    def read(self, images: NDArray[Any]) -> NDArray[Any]:
        """Return images as uint8 [N, H, W, C]; what they hold by themselves must not change how they are read."""
        if images.dtype.kind == "b":
            images = images.astype(np.float32)
        top = 1 if self.unit else 255
        fractions = not self.unit and images.dtype.kind == "f" and bool(np.any(images != np.round(images)))
        if float(images.max()) > top or (fractions and float(images.max()) <= 1):
            raise InvalidInput(
                f"image values reach to {images.max():g}, but those the classifier was fitted on count to {top}; "
                f"give images on the same scale."
            )
        pixels = np.round(images * 255) if self.unit else np.round(images)
        # Rounded already, so that they are taken as they are, however dark these images may be.
        return as_inputs(pixels.astype(np.int16) if float(images.min()) >= 0 else images)


def readable(x: NDArray[Any], scale: Scale | None) -> NDArray[Any]:
    """Return checked X as float32 rows or uint8 images."""
    return as_inputs(x) if scale is None else scale.read(x)


def refuse_masked(**given: Any) -> None:
    """Refuse hidden values by the name of what holds them: scikit-learn would read what lies under the mask."""
    for name, values in given.items():
        if np.ma.is_masked(values):
            raise InvalidInput(f"{name} has masked values; fill them in, or leave out their rows.")
