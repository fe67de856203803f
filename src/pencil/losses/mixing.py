"""Mixing examples of a batch with each other (mixup: Zhang et al., ICLR 2018).

Shapes: B examples.
"""

import torch
from torch import Tensor


def mix(values: Tensor, share_B: Tensor | None) -> Tensor:
    """Return each row with a share of its partner's row in it; None mixes nothing.

    Partners are neighbours: the first with the second, the third with the fourth; one without a partner stays as it
    is. Batches are drawn in random order, so a neighbour is a random one, and processes that share a batch by pairs
    mix the same as one process does.
    """
    if share_B is None:
        return values
    last = len(values) - 1
    partner_B = (torch.arange(len(values), device=values.device) ^ 1).clamp(max=last)
    share = share_B.view(-1, *[1] * (values.dim() - 1)).to(values.dtype)
    return values + share * (values.index_select(0, partner_B) - values)
