"""Every loss as a pure function of tensors, with its equation; one value per example, summed over classes."""

from pencil.losses.crf import crf_marginal, crf_negative_log_joint, crf_posterior
from pencil.losses.mixing import mix
from pencil.losses.pencil import (
    classic_kl,
    classification,
    compatibility_code,
    compatibility_paper,
    cross_entropy,
    entropy,
)
from pencil.losses.robust import (
    bootstrap_hard,
    bootstrap_soft,
    generalized_cross_entropy,
    mean_absolute_error,
    mean_squared_error,
    prior_divergence,
    truncation,
)
from pencil.losses.transition import backward_correction, estimate_transition, forward_correction, log_transition

__all__ = [
    "backward_correction",
    "bootstrap_hard",
    "bootstrap_soft",
    "classic_kl",
    "classification",
    "compatibility_code",
    "compatibility_paper",
    "crf_marginal",
    "crf_negative_log_joint",
    "crf_posterior",
    "cross_entropy",
    "entropy",
    "estimate_transition",
    "forward_correction",
    "generalized_cross_entropy",
    "log_transition",
    "mean_absolute_error",
    "mean_squared_error",
    "mix",
    "prior_divergence",
    "truncation",
]
