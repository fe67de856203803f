"""Whether a network has begun to learn labels by heart: it then agrees with those it learned more than with others.

Wrong labels tell nothing of each other, so a network that knows only what labels have in common agrees with as many
of those it never saw.
"""

from torch import Tensor, nn

from pencil.chance import is_higher
from pencil.engine.evaluate import Evaluator

SURE = 3.0
"""Standard errors by which agreement must differ."""


def learned_by_heart(
    network: nn.Module, learned: tuple[Evaluator, Tensor], held_out: tuple[Evaluator, Tensor]
) -> tuple[float, float] | None:
    """Return the percentages of labels agreed with, learned and held-out, where the first is higher beyond chance."""
    (hits, count), (others, size) = (_agreement(network, *each) for each in (learned, held_out))
    if not is_higher(hits, count, others, size, errors=SURE):
        return None
    return 100 * hits / count, 100 * others / size


def _agreement(network: nn.Module, evaluator: Evaluator, labels_N: Tensor) -> tuple[int, int]:
    hits = 0
    for rows, outputs_BC in evaluator.blocks(network):
        hits += int((outputs_BC.argmax(-1) == labels_N[rows].to(outputs_BC.device)).sum())
    return hits, int((labels_N >= 0).sum())
