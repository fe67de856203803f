"""The batches that a training loop of one's own asked about, until a step moves their labels.

Shapes: B examples in a batch, C classes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pencil.errors import PencilError
from pencil.types import Phase


@dataclass(frozen=True, eq=False)
class Asked:
    """One batch, and what moves its labels: by the phase and the label step of the moment it was asked about."""

    index_B: Tensor
    phase: Phase
    epoch: int
    eta: float
    label_logits_BC: Tensor | None = None
    """ỹ that was handed out for a loss of one's own; its gradient is that of a mean over the batch."""
    gradient_BC: Tensor | None = None
    """∂ℓ/∂ỹ of each example, where the loss is PENCIL's."""
    logits_BC: Tensor | None = None
    usable_B: Tensor | None = None

    def gradient(self) -> Tensor | None:
        """Return ∂ℓ/∂ỹ of each example; None where labels stay."""
        if self.label_logits_BC is None:
            return self.gradient_BC
        gradient_BC = self.label_logits_BC.grad
        if gradient_BC is None:
            raise PencilError("the labels have no gradient yet; call backward on the loss before step(index).")
        return gradient_BC * len(gradient_BC)


class AskedBatches:
    """The batches since the last step: those that a backward pass went through, and the one asked about last.

    A loss that is only looked at has no backward pass. Nothing but the loss itself keeps such a batch, once another
    one is asked about, so that an evaluation neither moves labels nor fills the memory.
    """

    def __init__(self) -> None:
        self.learned: dict[int, Asked] = {}
        """By their place in the order of asking; one backward pass goes through several losses in any order."""
        self.last: Asked | None = None
        self.count = 0

    def __bool__(self) -> bool:
        return bool(self.learned) or self.last is not None

    def add(self, batch: Asked, answer: Tensor) -> None:
        """Remember a batch; it is learned as soon as a backward pass goes through what was answered."""
        self.last, self.count = batch, self.count + 1
        if not answer.requires_grad:
            return
        place = self.count

        def backward_came(_: Tensor) -> None:
            handle.remove()
            self.learned[place] = batch

        handle = answer.register_hook(backward_came)  # type: ignore[no-untyped-call]

    def take(self, index_B: Tensor | None) -> list[Asked]:
        """Return the learned batches up to the one with these examples, in the order of asking, and forget them.

        Without examples all learned ones are taken. Where none was learned it is the one asked about last.
        """
        places = sorted(self.learned)
        learned = [self.learned[place] for place in places]
        waiting = learned if self.last is None or self.last in learned else [*learned, self.last]
        end = (len(learned) or len(waiting)) if index_B is None else _end(waiting, len(learned), index_B)
        if not end:
            raise PencilError(
                "step(index) needs a call of loss(logits, index) or labels(index) for the same batch first."
            )
        self.learned, self.last = {place: self.learned[place] for place in places[end:]}, None
        return waiting[:end]


def _end(waiting: list[Asked], learned: int, index_B: Tensor) -> int:
    """Return how many batches there are up to the latest with these examples, or that have them together; else 0."""
    for number in range(len(waiting), 0, -1):
        if torch.equal(waiting[number - 1].index_B, index_B):
            return number
    together = [batch.index_B for batch in waiting[:learned]]
    return learned if together and torch.equal(torch.cat(together), index_B) else 0
