"""What a step leaves in the example table and on the meters: moved labels, predictions, counts.

Shapes: B examples, C classes.
"""

import torch
from torch import Tensor

from pencil.table import Rows
from pencil.table.rules import apply
from pencil.types import Phase


def settle(
    phase: Phase, rows: Rows, gradient_BC: Tensor, logits_BC: Tensor, step: Tensor, epoch: Tensor, usable_B: Tensor
) -> tuple[Rows, dict[str, Tensor], Tensor]:
    """Move the labels by the phase's rule; return the changed rows, what there is to count, and the labels' classes."""
    prediction_BC = torch.nan_to_num(logits_BC.softmax(-1))
    changed = apply(phase.rule, rows, gradient_BC, prediction_BC, step, epoch, usable_B)
    if phase.track_predictions and "prediction_sum" in rows:
        # What is not finite is no prediction: it must not count in the mean.
        seen_BC = torch.where(usable_B.unsqueeze(-1), prediction_BC, torch.zeros_like(prediction_BC))
        changed["prediction_sum"] = rows["prediction_sum"] + seen_BC
        changed["predictions"] = rows["predictions"] + usable_B.to(torch.int32)
    label_B = changed.get("label_logits", rows["label_logits"]).argmax(-1)
    return changed, _counts(rows, changed, label_B, prediction_BC.argmax(-1), usable_B), label_B


def _counts(rows: Rows, changed: Rows, label_B: Tensor, network_B: Tensor, usable_B: Tensor) -> dict[str, Tensor]:
    clean_B = rows.get("clean", torch.full_like(rows["given"], -1))
    moved_B = changed.get("num_changes", rows["num_changes"]) != rows["num_changes"]
    return {
        "examples": torch.ones_like(usable_B).sum(),
        "correct_given": (network_B == rows["given"]).sum(),
        "agreeing": (network_B == label_B).sum(),
        "label_correct": ((label_B == clean_B) & (clean_B >= 0)).sum(),
        "label_known": (clean_B >= 0).sum(),
        "changed": moved_B.sum(),
        "relabelled": ((label_B != rows["given"]) & (rows["given"] >= 0)).sum(),
        "nonfinite": (~usable_B).sum(),
    }
