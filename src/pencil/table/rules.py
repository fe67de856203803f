"""The rules by which label logits move, each a function of one batch of rows.

Shapes: B examples, C classes. A rule gives back the columns it changes; locked rows are put back by `apply`.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from pencil.errors import PencilError
from pencil.table.columns import Rows
from pencil.table.dense import ExampleTable


class Rule(Protocol):
    """How labels move in a phase."""

    moves: ClassVar[bool]
    """Whether labels can move at all."""
    uses_gradient: ClassVar[bool]
    """Whether the rule needs ∂ℓ/∂ỹ."""

    def prepare(self, table: ExampleTable) -> None:
        """Add the columns that the rule keeps."""

    def update(self, rows: Rows, gradient_BC: Tensor, prediction_BC: Tensor, step: Tensor) -> Rows:
        """Return the changed columns of these rows."""
        ...


class _Plain:
    moves: ClassVar[bool] = True
    uses_gradient: ClassVar[bool] = False

    def prepare(self, table: ExampleTable) -> None:
        """Most rules keep nothing of their own."""


@dataclass(frozen=True)
class Fixed(_Plain):
    """Labels stay as they are."""

    moves: ClassVar[bool] = False

    def update(self, rows: Rows, gradient_BC: Tensor, prediction_BC: Tensor, step: Tensor) -> Rows:
        return {}


@dataclass(frozen=True)
class GradientStep(_Plain):
    """ỹ ← ỹ − η ∂ℓ/∂ỹ (Sec. 3.6): a plain step, no momentum, no decay; η = λ/(B·C) of the recipe's batch."""

    uses_gradient: ClassVar[bool] = True

    def update(self, rows: Rows, gradient_BC: Tensor, prediction_BC: Tensor, step: Tensor) -> Rows:
        return {"label_logits": rows["label_logits"] - step * gradient_BC}


@dataclass(frozen=True)
class MovingAverage(_Plain):
    """y^d ← m·y^d + (1 − m)·f."""

    momentum: float = 0.9

    def update(self, rows: Rows, gradient_BC: Tensor, prediction_BC: Tensor, step: Tensor) -> Rows:
        mixed_BC = torch.lerp(prediction_BC, rows["label_logits"].softmax(-1), self.momentum)
        return {"label_logits": log_distribution(mixed_BC)}


@dataclass(frozen=True)
class EpochAverage(_Plain):
    """y^d ← the mean of the last epochs' predictions; with `moving` off they are only recorded."""

    last: int = 10
    moving: bool = True

    def prepare(self, table: ExampleTable) -> None:
        if "label_logits" not in table.columns:
            raise PencilError("averaging over epochs keeps dense predictions; use --set hardware.table=dense.")
        table.ensure("recent", (self.last, table.num_classes), table.dtype)
        table.ensure("recent_count", (), torch.int32)

    def update(self, rows: Rows, gradient_BC: Tensor, prediction_BC: Tensor, step: Tensor) -> Rows:
        recent_BLC = torch.cat([rows["recent"][:, 1:], prediction_BC.unsqueeze(1)], 1)
        count_B = (rows["recent_count"] + 1).clamp(max=self.last)
        changed = {"recent": recent_BLC, "recent_count": count_B}
        if self.moving:
            changed["label_logits"] = log_distribution(recent_BLC.sum(1) / count_B.unsqueeze(-1))
        return changed


def log_distribution(distribution_BC: Tensor) -> Tensor:
    """Return finite logits whose softmax is the distribution."""
    return distribution_BC.clamp(min=torch.finfo(distribution_BC.dtype).tiny).log()


def apply(
    rule: Rule, rows: Rows, gradient_BC: Tensor, prediction_BC: Tensor, step: Tensor, epoch: Tensor, usable_B: Tensor
) -> Rows:
    """Move the labels of a batch by a rule; locked rows and rows with non-finite numbers stay untouched.

    Keeps the history of each label: the epoch of its last change of argmax, and how many there were.
    """
    if not rule.moves:
        return {}
    proposed = rule.update(rows, gradient_BC, prediction_BC, step)
    _refuse_malformed(proposed, rows)
    free_B = usable_B & ~rows["locked"]
    if "label_logits" in proposed:
        # A loss can be finite where its gradient is not.
        free_B = free_B & proposed["label_logits"].isfinite().all(-1)
    changed = {
        name: torch.where(free_B.view(-1, *[1] * (value.dim() - 1)), value, rows[name])
        for name, value in proposed.items()
    }
    if "label_logits" in changed:
        moved_B = changed["label_logits"].argmax(-1) != rows["label_logits"].argmax(-1)
        changed["changed_at"] = torch.where(moved_B, epoch.to(torch.int32), rows["changed_at"])
        changed["num_changes"] = rows["num_changes"] + moved_B.to(torch.int32)
    return changed


def _refuse_malformed(proposed: object, rows: Rows) -> None:
    """Refuse what does not fit the table: a rule may be anyone's, and numbers of another shape would be spread."""
    if not isinstance(proposed, dict):
        raise PencilError(f"the label rule gives a {type(proposed).__name__}; let it return a dict of changed columns.")
    for name, value in proposed.items():
        here = rows.get(name)
        if here is None:
            raise PencilError(f'the label rule changes a column "{name}", which there is none of; add it in prepare.')
        if not isinstance(value, Tensor) or value.shape != here.shape or value.dtype != here.dtype:
            found = f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
            raise PencilError(
                f'the label rule gives the column "{name}" as {found}; it must be {here.dtype} {list(here.shape)}.'
            )
