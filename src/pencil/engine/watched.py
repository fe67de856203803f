"""Sets of examples that are never trained on, whose accuracy is measured each epoch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from pencil.engine.evaluate import Evaluator, accuracy, mean_loss


@dataclass(frozen=True)
class Watched:
    """A set of examples whose accuracy is measured each epoch."""

    evaluator: Evaluator
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


def watch(network: nn.Module, sets: Mapping[str, Watched]) -> dict[str, float]:
    """Return the network's accuracy on each set, and its loss on the held-out one."""
    record = {}
    for name, watched in sets.items():
        logits_NC = watched.evaluator.logits(network)
        record[f"{name}_accuracy"] = accuracy(logits_NC, watched.labels)
        if name == "held_out":
            record["held_out_loss"] = mean_loss(logits_NC, watched.labels)
    return record


def score(record: Mapping[str, Any], *, keeps_best: str) -> float:
    """Return how good weights are by the held-out labels; without any the latest weights count as the best."""
    if "held_out_loss" not in record:
        return float(record["epoch"])
    return -float(record["held_out_loss"]) if keeps_best == "loss" else float(record["held_out_accuracy"])
