"""The numbers of an epoch: its rates beforehand, what it came to afterwards."""

from typing import Any

import torch
from torch import Tensor

from pencil.engine.state import State
from pencil.errors import PencilError
from pencil.types import Phase


def rates(phase: Phase, phase_epoch: int, steps: int) -> Tensor:
    """Return [learning rate, label step] for each step of an epoch."""
    moments = [phase_epoch + step / steps for step in range(steps)]
    label_step = phase.label_step
    return torch.tensor(
        [
            [phase.lr.at(moment, phase.epochs) for moment in moments],
            [label_step.at(moment, phase.epochs) if label_step else 0.0 for moment in moments],
        ],
        dtype=torch.float64,
    )


def measured(state: State) -> dict[str, Any]:
    """Return what the meters counted over an epoch, in percent where that makes sense; waits for the device."""
    counts, parts = state.meters.read()
    n = max(counts["examples"], 1)
    lr, label_step = state.clock.rates[:, 0].tolist()
    record = {
        "lr": round(lr, 8),
        "label_step": round(label_step, 8),
        "loss": sum(parts.values()) / n,
        "loss_parts": {name: value / n for name, value in parts.items()},
        "train_accuracy": 100 * counts["correct_given"] / max(labelled(state), 1),
        "agreement": 100 * counts["agreeing"] / n,
        "changed": int(counts["changed"]),
        "relabelled": int(counts["relabelled"]),
        "nonfinite": int(counts["nonfinite"]),
        "skipped": int(counts["skipped"]),
        "lost_classes": _lost_classes(state),
    }
    if counts["label_known"]:
        record["label_accuracy"] = 100 * counts["label_correct"] / counts["label_known"]
    return record


def labelled(state: State) -> int:
    """Return how many examples were given a label; an epoch sees each of them once."""
    return int((state.table.columns["given"] >= 0).sum())


def _lost_classes(state: State) -> list[int]:
    """Return the classes that examples were given, and that no example's label is of any more."""
    given_N = state.table.columns["given"]
    was_C = torch.bincount(given_N[given_N >= 0], minlength=len(state.meters.labels)) > 0
    lost: list[int] = (was_C & (state.meters.labels == 0)).nonzero().flatten().tolist()
    return lost


def refuse_nonfinite(record: dict[str, Any], limit: float, *, examples: int, steps: int) -> None:
    """End a run of which too much was not finite in an epoch; its counts are on the host by then."""
    for name, whole, what in (("nonfinite", examples, "examples"), ("skipped", steps, "updates of the network")):
        if record[name] > limit * whole:
            raise PencilError(
                f"epoch {record['epoch'] + 1}: {record[name]:,} of {whole:,} {what} came to NaN or infinity; the last"
                " checkpoint is kept. Look for such numbers in the data, or start again with a lower learning rate"
                " (--set phases.PHASE.lr=…)."
            )
