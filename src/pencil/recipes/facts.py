"""What a recipe may know: sizes of the data, never truth, and what will compute."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Facts:
    """Sizes of the training data, and the machine."""

    num_examples: int
    num_classes: int
    kind: str
    """images, rows or tensors."""
    phase_names: tuple[str, ...] = ("training",)
    """The method's phases, in order."""
    shape: tuple[int, ...] = ()
    """Of one input as the network sees it: channels, height, width; features; or any."""
    accelerated: bool = True
    """Whether a GPU will compute."""
    directions: float = 1.0
    """In how many rows spread: as many as there are columns where none goes with another, else fewer."""
    pull: float = 1.0
    """How strongly the labels of rows pull at a network's weights while these are small."""
    lengths: Mapping[str, int] = field(default_factory=dict)
    """Epochs of phases, where the user says them."""
    batch_size: int = 0
    """Where the user says it; else 0."""
