"""Where label logits start: hard, soft, voted or missing labels by one formula."""

import torch
from torch import Tensor


def initial_label_logits(distribution_NC: Tensor, scale: float) -> Tensor:
    """Return ỹ = K·ŷ (Eq. 8) for one-hot labels and log p + K for soft ones; zeros (uniform) where there is none.

    Both are one formula, max(log p, −K) + K, whose softmax is the given distribution.
    """
    logits_NC = distribution_NC.log().clamp(min=-scale) + scale
    unlabelled_N1 = distribution_NC.sum(-1, keepdim=True) == 0
    return torch.where(unlabelled_N1, torch.zeros_like(logits_NC), logits_NC)
