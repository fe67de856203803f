"""Checks that a backbone can take the examples it is asked to take."""

from pencil.errors import PencilError
from pencil.types import InputSpec


def image_channels(spec: InputSpec, name: str, *, smallest: int) -> int:
    """Return the number of channels of images that are at least `smallest` pixels a side, or say what to use."""
    if spec.kind != "images":
        sides = " × ".join(map(str, spec.shape))
        remedy = "use the backbone mlp" if spec.kind == "rows" else "give a network of your own by backbone"
        raise PencilError(f"{name} takes images, but these examples are {spec.kind} of {sides} numbers; {remedy}.")
    channels, height, width = spec.shape
    if min(height, width) < smallest:
        raise PencilError(
            f"{name} takes images of at least {smallest} × {smallest} pixels, "
            f"but these are {height} × {width}; use the backbone mlp."
        )
    return channels
