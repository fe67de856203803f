"""Sets of examples that are never trained on, whose accuracy is measured each epoch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from pencil.chance import MANY, is_higher
from pencil.engine.evaluate import Evaluator, accuracy, least_loss, mean_loss

SURE = 2.0
"""Standard errors by which labels that are learned must be agreed with more."""


@dataclass(frozen=True)
class Watched:
    """A set of examples whose accuracy is measured each epoch."""

    evaluator: Evaluator
    labels: Tensor

    def __len__(self) -> int:
        """Count the examples that have a label: no others tell of accuracy."""
        return int((self.labels >= 0).sum())


@dataclass(frozen=True)
class Agreement:
    """How many labels were agreed with while they were learned."""

    hits: float
    count: int


def watch(network: nn.Module, sets: Mapping[str, Watched], learned: Agreement | None = None) -> dict[str, float]:
    """Return the network's accuracy on each set, its loss on the held-out one, and what it does not know of it.

    The loss grows with overconfidence as well as with ignorance. So ignorance is the loss at its best temperature as
    long as nothing is learned by heart: as labels that are learned are agreed with no more than held-out ones.
    """
    record = {}
    for name, watched in sets.items():
        if not len(watched):
            continue
        logits_NC = watched.evaluator.logits(network)
        record[f"{name}_accuracy"] = accuracy(logits_NC, watched.labels)
        if name != "held_out":
            continue
        record["held_out_loss"] = mean_loss(logits_NC, watched.labels)
        if learned is not None and len(watched) >= MANY:
            others = record["held_out_accuracy"] / 100 * len(watched)
            by_heart = is_higher(learned.hits, learned.count, others, len(watched), errors=SURE)
            least = record["held_out_loss"] if by_heart else least_loss(logits_NC, watched.labels)
            record["held_out_ignorance"] = least
    return record


def ignorance(record: Mapping[str, Any]) -> float | None:
    """Return what weights are judged by: what they do not know of the held-out labels, or their loss."""
    found: float | None = record.get("held_out_ignorance", record.get("held_out_loss"))
    return found


def score(record: Mapping[str, Any], *, keeps_best: str) -> float:
    """Return how good weights are by the held-out labels; without any the latest weights count as the best."""
    unknown = ignorance(record)
    if unknown is None:
        return float(record["epoch"])
    return -unknown if keeps_best == "loss" else float(record["held_out_accuracy"])
