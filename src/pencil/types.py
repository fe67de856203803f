"""The records that pass between the parts.

Shapes: B examples in a batch, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from torch import Tensor

    from pencil.config import Schedule


InputKind = Literal["images", "rows", "tensors"]


@dataclass(frozen=True)
class InputSpec:
    """What one prepared example looks like to a backbone."""

    kind: InputKind
    shape: tuple[int, ...]
    """(channels, height, width) for images, (features,) for rows; tensors have any."""


@dataclass(frozen=True)
class Batch:
    """All a method may look at: one batch, its predictions and its rows of the example table."""

    logits: Tensor
    """[B, C] the network's outputs, before softmax."""
    label_logits: Tensor
    """[B, C] ỹ; the engine takes ∂loss/∂ỹ from the same backward pass."""
    given: Tensor
    """[B, C] ŷ, the given label as a distribution; all zeros where an example has no label."""
    labelled: Tensor
    """[B] bool, False where an example has no label."""
    anchor: Tensor
    """[B] per-example multiplier of the pull towards the given label."""
    weight: Tensor
    """[B] per-example weight of the loss."""
    phase: str
    """Name of the phase, constant within a captured step."""
    trusted: Tensor | None = None
    """[B] bool, True where the given label is known to be right."""
    teacher_logits: Tensor | None = None
    """[B, C] outputs of the averaged network for the examples themselves, in phases where labels move."""
    partner_share: Tensor | None = None
    """[B] the share of its partner that is mixed into each example's input; `losses.mix` mixes labels alike."""
    given_class: Tensor | None = None
    """[B] ŷ as a class, −1 where an example has no label; None where given labels are distributions."""


@dataclass(frozen=True)
class Terms:
    """A method's loss on one batch: named per-example parts, summed over classes."""

    parts: dict[str, Tensor]
    """[B] each, or one number for all; their sum is the loss ℓ of an example, in units where labels step by η·∂ℓ/∂ỹ."""
    scale: float = 1.0
    """The network sees scale · mean(ℓ); the paper's form has 1/c here."""
    rows: Tensor | None = None
    """[B] bool: the examples that take part in the mean; all of them when None."""
    whole_batch: dict[str, Tensor] = field(default_factory=dict)
    """Scalar terms of the batch as a whole, added to the network's loss; of several processes, of each one's share."""


@dataclass(frozen=True)
class Phase:
    """A stretch of epochs with one loss, one learning-rate schedule and one label rule."""

    name: str
    epochs: int
    lr: Schedule
    rule: Any
    """A label rule of `pencil.table.rules`."""
    label_step: Schedule | None = None
    """η over the phase, for rules that step."""
    fresh_network: bool = False
    """Start from newly initialised weights and empty momentum."""
    from_best: bool = False
    """Start from the weights of the best epoch so far, by the noisy held-out labels."""
    patience: int = 0
    """Leave the phase where the loss on the held-out labels hardly falls over so many epochs or more; 0: never."""
    at_most: int = 0
    """Epochs that it may come to where the method needs more, as the phase begins."""
    mixed: bool = True
    """Whether examples are mixed in this phase, where they are mixed at all."""
    track_predictions: bool = False
    """Average each example's prediction over this phase, as evidence for label quality."""

    def lasting(self, epochs: int) -> Self:
        """Return the phase with as many epochs; where those are more than planned, its schedules stretch with it."""
        factor = epochs / self.epochs if epochs > self.epochs > 0 else 1.0
        step = self.label_step.stretched(factor) if self.label_step is not None else None
        return replace(self, epochs=epochs, lr=self.lr.stretched(factor), label_step=step)

    @property
    def usual(self) -> int:
        """Epochs that it comes to as a rule: a third of those it may take, where it can be left early."""
        return (round(self.epochs / 3) if self.patience else 0) or self.epochs
