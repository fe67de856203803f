"""What a recipe may know of the data: sizes, never truth."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """Sizes of the training data."""

    num_examples: int
    num_classes: int
    kind: str
    """images or rows."""
    phase_names: tuple[str, ...] = ("training",)
    """The method's phases, in order."""
    shape: tuple[int, ...] = ()
    """Of one input as the network sees it: channels, height, width; or features."""
