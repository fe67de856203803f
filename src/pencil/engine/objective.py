"""From a network's outputs to one number: a method's loss summed over a batch, with what is not finite cut out.

Shapes: B examples, C classes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pencil.errors import PencilError
from pencil.methods import Method
from pencil.table import Rows, distribution_of
from pencil.types import Batch, Phase, Terms


@dataclass(frozen=True)
class Measured:
    """What one batch's loss came to."""

    usable_B: Tensor
    """Rows whose numbers are finite."""
    count: Tensor
    """[1] how many examples took part; the network's gradient is divided by it."""
    rescale: float
    """Turns the gradient of the summed loss into ∂ℓ/∂ỹ of each example's own row."""
    parts: dict[str, Tensor]


def objective(
    method: Method,
    phase: Phase,
    logits_BC: Tensor,
    rows: Rows,
    teacher_BC: Tensor | None = None,
    share_B: Tensor | None = None,
) -> tuple[Tensor, Measured]:
    """Return scale × the loss summed over the examples that take part, and how many they are.

    The sum, not the mean: processes that share a batch add up their gradients and counts, and divide once.
    """
    finite_B = logits_BC.isfinite().all(-1)
    if teacher_BC is not None:
        finite_B = finite_B & teacher_BC.isfinite().all(-1)
    dtype = rows["label_logits"].dtype

    def safe(outputs_BC: Tensor) -> Tensor:
        # A row that is not finite is cut out before the loss, since 0·NaN would still poison the gradient.
        return torch.where(finite_B.unsqueeze(-1), outputs_BC, torch.zeros_like(outputs_BC)).to(dtype)

    taught_BC = None if teacher_BC is None else safe(teacher_BC)
    terms = method.loss(_batch(safe(logits_BC), rows, phase, taught_BC, share_B))
    _refuse_malformed(terms, len(logits_BC))
    each_B = torch.stack([part.expand(len(logits_BC)) for part in terms.parts.values()]).sum(0) * rows["weight"]
    usable_B = finite_B & each_B.isfinite()
    taking_B = usable_B if terms.rows is None else usable_B & terms.rows
    # Counted in floats: a kernel that sums truth values beside numbers does not compile for every GPU.
    count = torch.where(taking_B, torch.ones_like(each_B), torch.zeros_like(each_B)).sum().detach()
    loss = terms.scale * torch.where(taking_B, each_B, torch.zeros_like(each_B)).sum()
    for term in terms.whole_batch.values():
        loss = loss + count * term
    parts = {k: torch.where(usable_B, v.detach(), torch.zeros_like(v)).sum() for k, v in terms.parts.items()}
    return loss, Measured(usable_B, count.view(1), 1 / terms.scale, parts)


def _refuse_malformed(terms: object, size: int) -> None:
    """Refuse what is no loss of so many examples: a method may be anyone's, and a sum over another shape is another."""
    if not isinstance(terms, Terms):
        raise PencilError(f"the method's loss gives a {type(terms).__name__}; let it return pencil.types.Terms.")
    if not isinstance(terms.parts, dict) or not terms.parts:
        raise PencilError("the method's loss has no parts; let it return Terms({name: one number for each example}).")
    for name, part in terms.parts.items():
        if not _has_shape(part, size) and not _has_shape(part):
            raise _misshaped(f'part "{name}"', part, "one number for each example")
    for name, term in terms.whole_batch.items():
        if not _has_shape(term) and not _has_shape(term, 1):
            raise _misshaped(f'part "{name}" of the whole batch', term, "one number")
    if terms.rows is not None:
        if not _has_shape(terms.rows, size):
            raise _misshaped("rows", terms.rows, "true or false for each example")
        if terms.rows.dtype != torch.bool:
            raise PencilError(f"the rows of the method's loss are {terms.rows.dtype}; give true or false for each.")
    if not terms.scale > 0:
        raise PencilError(f"the scale of the method's loss is {terms.scale}; give a number, more than 0.")


def _has_shape(value: object, *sizes: int) -> bool:
    return isinstance(value, Tensor) and value.shape == sizes


def _misshaped(what: str, value: object, wanted: str) -> PencilError:
    if isinstance(value, Tensor):
        return PencilError(f"the method's loss has the shape {list(value.shape)} in its {what}; give {wanted}.")
    return PencilError(f"the method's loss has a {type(value).__name__} as its {what}; give a tensor, {wanted}.")


def joined(parts: list[tuple[Tensor, Measured]]) -> tuple[Tensor, Measured]:
    """Return the outputs and sums of a batch that was learned in parts."""
    each = [measured for _, measured in parts]
    whole = Measured(
        usable_B=torch.cat([measured.usable_B for measured in each]),
        count=torch.stack([measured.count for measured in each]).sum(0),
        rescale=each[0].rescale,
        parts={name: torch.stack([measured.parts[name] for measured in each]).sum(0) for name in each[0].parts},
    )
    return torch.cat([logits_BC for logits_BC, _ in parts]), whole


def _batch(logits_BC: Tensor, rows: Rows, phase: Phase, teacher_BC: Tensor | None, share_B: Tensor | None) -> Batch:
    given_BC, class_B = rows.get("given_distribution"), None
    if given_BC is None:
        class_B = rows["given"]
        given_BC = distribution_of(class_B, logits_BC.shape[1], logits_BC.dtype)
    return Batch(
        logits=logits_BC,
        label_logits=rows["label_logits"],
        given=given_BC,
        labelled=rows["labelled"],
        anchor=rows["anchor"],
        weight=rows["weight"],
        phase=phase.name,
        trusted=rows["locked"],
        teacher_logits=teacher_BC,
        partner_share=share_B,
        given_class=class_B,
    )
