"""Corrections by a transition matrix T, T_ij = P(ŷ = j | y = i) (Patrini et al., CVPR 2017).

Shapes: N and B examples, C classes. f = softmax(logits), ŷ = given.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

IMPOSSIBLE = -1e4
"""log 0, kept finite: far below what any difference of logits makes up for."""

LEAST = math.log(1e-7)
"""The bound that Patrini et al. put on log f in their code."""

MOST_PASSED = 2 / 3
"""Of a class's labels, the share that may be passed over as outliers."""


def log_transition(transition_CC: Tensor) -> Tensor:
    """Return log T, with a finite stand-in for log 0."""
    return transition_CC.log().clamp(min=IMPOSSIBLE)


def forward_correction(
    logits_BC: Tensor, given_BC: Tensor, log_transition_CC: Tensor, class_B: Tensor | None = None
) -> Tensor:
    """−Σ_j ŷ_j log (fᵀT)_j (Patrini et al., Theorem 2): cross entropy of what the noise makes of the prediction.

    `class_B` are the given labels where they are classes (−1: none), each of which needs one column of T alone.
    """
    # In logarithms, since fᵀT underflows where a confident prediction contradicts the label.
    log_f_BC = log_softmax(logits_BC, -1)
    if class_B is not None:
        column_BC = log_transition_CC.T.index_select(0, class_B.clamp(min=0))
        return -given_BC.sum(-1) * (log_f_BC + column_BC).logsumexp(-1)
    noisy_BC = (log_f_BC.unsqueeze(-1) + log_transition_CC).logsumexp(-2)
    return -(given_BC * noisy_BC).sum(-1)


def backward_correction(logits_BC: Tensor, given_BC: Tensor, inverse_CC: Tensor) -> Tensor:
    """Σ_j (T⁻¹)_ŷj·(−log f_j) (Patrini et al., Theorem 1): in the mean over the noise, the loss of clean labels.

    T⁻¹ has negative entries, by which the loss would fall for ever; there f counts as at least 1e-7.
    """
    weight_BC, log_f_BC = given_BC @ inverse_CC, log_softmax(logits_BC, -1)
    bounded_BC = torch.where(weight_BC < 0, log_f_BC.clamp(min=LEAST), log_f_BC)
    return -(weight_BC * bounded_BC).sum(-1)


def estimate_transition(prediction_NC: Tensor, drop_top: float, count_C: Tensor | None = None) -> Tensor:
    """Return T̂ (Patrini et al.): row i is the prediction at the example most surely of class i.

    Examples at or above the (1 − drop_top) quantile of f_i are passed over as outliers; 0 passes over none. `count_C`
    is how many labels each class has: of a rare one no more are passed over than `MOST_PASSED` of them, since the next
    example would be one of another class, and one without labels stays what it is.
    """
    rows, num_examples = [], len(prediction_NC)
    passed = num_examples - math.ceil((1 - drop_top) * (num_examples - 1)) if drop_top > 0 else 0
    counts = [num_examples] * prediction_NC.shape[1] if count_C is None else count_C.tolist()
    for surely_N, count in zip(prediction_NC.T, counts, strict=True):
        dropped = min(passed, int(MOST_PASSED * count))
        if dropped:
            bound = surely_N.sort().values[num_examples - dropped]
            # Where all are equal none is left, and any will do.
            surely_N = torch.where(surely_N < bound, surely_N, torch.zeros_like(surely_N))
        rows.append(prediction_NC[surely_N.argmax()])
    estimate_CC = torch.stack(rows)
    if count_C is not None:
        estimate_CC = torch.eye(len(rows)).to(estimate_CC).where(count_C.unsqueeze(-1) == 0, estimate_CC)
    return estimate_CC / estimate_CC.sum(-1, keepdim=True)
