"""What a recipe may know: sizes of the data, never truth, and what will compute."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """Sizes of the training data, and the machine."""

    num_examples: int
    num_classes: int
    kind: str
    """images or rows."""
    phase_names: tuple[str, ...] = ("training",)
    """The method's phases, in order."""
    shape: tuple[int, ...] = ()
    """Of one input as the network sees it: channels, height, width; or features."""
    accelerated: bool = True
    """Whether a GPU will compute."""
