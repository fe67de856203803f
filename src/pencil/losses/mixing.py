"""Mixing examples of a batch with each other (mixup: Zhang et al., ICLR 2018).

Shapes: B examples.
"""

from torch import Tensor


def mix(values: Tensor, share_B: Tensor | None) -> Tensor:
    """Return each row with a share of its partner's row in it; the partner is half a batch away, None mixes nothing.

    Batches are drawn in random order, so any fixed partner is a random one. Processes that share a batch by turns
    pair the same examples as one process does, where the batch divides evenly.
    """
    if share_B is None:
        return values
    share = share_B.view(-1, *[1] * (values.dim() - 1)).to(values.dtype)
    return values + share * (values.roll(len(values) // 2, 0) - values)
