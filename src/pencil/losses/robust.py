"""Losses that wrong labels mislead less than cross entropy, or that lean on the network's own prediction.

Shapes: B examples, C classes. f = softmax(logits), ŷ = given.
"""

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, one_hot, softmax

from pencil.losses.pencil import cross_entropy, entropy


def generalized_cross_entropy(logits_BC: Tensor, given_BC: Tensor, q: float) -> Tensor:
    """(1 − f_ŷ^q)/q (Zhang & Sabuncu, NeurIPS 2018), the loss L_q: cross entropy at q → 0, MAE/2 at q = 1."""
    # expm1 keeps all digits where q·log f is near zero, so that small q really is cross entropy.
    return -(given_BC * torch.expm1(q * log_softmax(logits_BC, -1))).sum(-1) / q


def truncation(prediction_BC: Tensor, given_BC: Tensor, k: float) -> Tensor:
    """Return [B] 1 where f_ŷ > k, else 0 (Zhang & Sabuncu, NeurIPS 2018): what truncated L_q learns from."""
    return ((given_BC * prediction_BC).sum(-1) > k).to(prediction_BC.dtype)


def mean_absolute_error(logits_BC: Tensor, given_BC: Tensor) -> Tensor:
    """‖f − ŷ‖₁ (Ghosh, Kumar & Sastry, AAAI 2017), 2(1 − f_ŷ) for a plain label."""
    return (softmax(logits_BC, -1) - given_BC).abs().sum(-1)


def mean_squared_error(logits_BC: Tensor, given_BC: Tensor) -> Tensor:
    """‖f − ŷ‖² (Ghosh, Kumar & Sastry, AAAI 2017)."""
    return (softmax(logits_BC, -1) - given_BC).square().sum(-1)


def bootstrap_soft(logits_BC: Tensor, given_BC: Tensor, given_share: float) -> Tensor:
    """−Σ_j (b·ŷ_j + (1 − b)·f_j) log f_j (Reed et al., ICLR 2015 workshop): b·CE + (1 − b)·H(f)."""
    return given_share * cross_entropy(logits_BC, given_BC) + (1 - given_share) * entropy(logits_BC)


def bootstrap_hard(logits_BC: Tensor, given_BC: Tensor, given_share: float) -> Tensor:
    """−Σ_j (b·ŷ_j + (1 − b)·z_j) log f_j with z the network's own class (Reed et al., ICLR 2015 workshop)."""
    own_BC = one_hot(logits_BC.argmax(-1), logits_BC.shape[-1]).to(logits_BC.dtype)
    return cross_entropy(logits_BC, given_share * given_BC + (1 - given_share) * own_BC)


def prior_divergence(logits_BC: Tensor, prior_C: Tensor) -> Tensor:
    """KL(p ‖ mean of f over the batch) (Tanaka et al., CVPR 2018), a scalar: keeps all classes in use."""
    # A class of share zero costs nothing; the floor keeps 0·log 0 and an unused class finite.
    tiny = torch.finfo(logits_BC.dtype).tiny
    mean_C = softmax(logits_BC, -1).mean(0)
    return (prior_C * (prior_C.clamp(min=tiny).log() - mean_C.clamp(min=tiny).log())).sum()
