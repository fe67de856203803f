"""The conditional random field over the true class y and the given label ŷ (Vahdat, NeurIPS 2017), for single labels.

p(y, ŷ | x) ∝ exp(a_y(x) + W_yŷ), with a the unary potentials of the network and W the pairwise ones. One label each
leaves C × C states, so that the partition function is a plain sum and nothing needs sampling.

Shapes: B examples, C classes; rows of W are true classes, columns given labels.
"""

from torch import Tensor
from torch.nn.functional import log_softmax


def crf_marginal(unary_BC: Tensor, pairwise_CC: Tensor) -> Tensor:
    """log p(y | x) = a_y + log Σ_ŷ exp W_yŷ − log Z, the sum over all given labels carried out."""
    return log_softmax(unary_BC + pairwise_CC.logsumexp(-1), -1)


def crf_negative_log_joint(unary_BC: Tensor, pairwise_CC: Tensor, given_BC: Tensor, belief_BC: Tensor) -> Tensor:
    """−Σ_y q(y) log p(y, ŷ | x) (the M-step), for the given label and a belief q in the true class."""
    partition_B = (unary_BC + pairwise_CC.logsumexp(-1)).logsumexp(-1)
    log_joint_BC = unary_BC + given_BC @ pairwise_CC.T - partition_B.unsqueeze(-1)
    return -(belief_BC * log_joint_BC).sum(-1)


def crf_posterior(
    unary_BC: Tensor, pairwise_CC: Tensor, given_BC: Tensor, log_auxiliary_CC: Tensor, auxiliary_weight: Tensor
) -> Tensor:
    """q(y) ∝ (p(y | ŷ, x)·p_aux(y | ŷ)^κ)^(1/(1 + κ)) (the E-step): large κ trusts p_aux alone.

    `log_auxiliary_CC` has true classes in rows, like W.
    """
    log_posterior_BC = log_softmax(unary_BC + given_BC @ pairwise_CC.T, -1)
    mixed_BC = log_posterior_BC + auxiliary_weight * (given_BC @ log_auxiliary_CC.T)
    return (mixed_BC / (1 + auxiliary_weight)).softmax(-1)
