"""What the noise is like, as far as noisy held-out labels tell, and how likely each label is right by it.

Among the examples a network is surest of, disagreement with the given labels is noise: there it shows which classes
are taken for which. Elsewhere disagreement may as well be the network's own doubt; a temperature says how far its
outputs can be believed. Shapes: N held-out examples, B examples of a batch, C classes.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import one_hot

SURE_SHARE = 0.25
"""Share of the examples of each predicted class that count as sure."""
SMOOTHING = 1.0
"""How many examples the mean over all classes counts as, for each class's own row of the matrix."""
TEMPERATURES = tuple(2 ** (power / 4) for power in range(-16, 17))


def fit_noise(logits_NC: Tensor, given_N: Tensor) -> tuple[Tensor, Tensor]:
    """Return T [C, C], T[i, j] = P(given = j | true = i), and the temperature at which T explains the labels best."""
    known_N = given_N >= 0
    logits_NC, given_N = logits_NC[known_N].double(), given_N[known_N].long()
    transition_CC = _transition(logits_NC, given_N)
    likelihood = [
        # Few labels hardly tell temperatures apart: a log-normal prior around 1 keeps them from running away.
        _likely((logits_NC / t).softmax(-1), transition_CC, given_N).log().sum() - math.log(t) ** 2 / 2
        for t in TEMPERATURES
    ]
    best = torch.stack(likelihood).argmax()
    return transition_CC, logits_NC.new_tensor(TEMPERATURES)[best]


def _likely(clean_NC: Tensor, transition_CC: Tensor, given_N: Tensor) -> Tensor:
    return (clean_NC @ transition_CC).gather(1, given_N.unsqueeze(1)).clamp(min=1e-12)


def _transition(logits_NC: Tensor, given_N: Tensor) -> Tensor:
    classes = logits_NC.shape[1]
    counts_CC = logits_NC.new_zeros(classes, classes)
    counts_CC.index_add_(0, logits_NC.argmax(-1), _sure(logits_NC)[:, None] * one_hot(given_N, classes))
    agreeing = counts_CC.diagonal().sum()
    # One more example on either side: nothing is certain from few.
    wrong = (counts_CC.sum() - agreeing + 1) / (counts_CC.sum() + 2)
    eye_CC = torch.eye(classes, dtype=counts_CC.dtype, device=counts_CC.device)
    mean_CC = (1 - wrong) * eye_CC + wrong / max(classes - 1, 1) * (1 - eye_CC)
    weight = SMOOTHING * classes
    return (counts_CC + weight * mean_CC) / (counts_CC.sum(-1, keepdim=True) + weight)


def _sure(logits_NC: Tensor) -> Tensor:
    """Return 1 for the surest examples of each predicted class, 0 for the others."""
    confidence_N, predicted_N = logits_NC.softmax(-1).max(-1)
    marks_N = torch.zeros_like(confidence_N)
    for label in range(logits_NC.shape[1]):
        mine = (predicted_N == label).nonzero().flatten()
        best = confidence_N[mine].topk(math.ceil(SURE_SHARE * len(mine))).indices
        marks_N[mine[best]] = 1
    return marks_N


def clean_probability(logits_BC: Tensor, given_BC: Tensor, transition_CC: Tensor) -> Tensor:
    """Return P(the given label is right | input, given label) by Bayes' rule; for a soft label, its mean."""
    prior_BC = logits_BC.softmax(-1)
    likely_BC = (prior_BC @ transition_CC).clamp(min=torch.finfo(prior_BC.dtype).tiny)
    return (given_BC * prior_BC * transition_CC.diagonal() / likely_BC).sum(-1)
