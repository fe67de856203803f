"""What the noise is like, as far as noisy labels tell that were not learned, and how likely each label is right by it.

Among the examples a network is surest of, disagreement with the given labels is noise: there it shows which classes
are taken for which. Elsewhere disagreement may as well be the network's own doubt; a temperature says how far its
outputs can be believed. Shapes: N examples, B examples of a batch, C classes.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import one_hot

Seen = tuple[Tensor, Tensor]
"""A network's outputs [N, C] for some examples, and the labels given to them [N]; -1 where there is none."""
FEW = 1000
"""Held-out labels that need no help from others."""
SURE_SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the examples of each predicted class that may count as sure."""
CHANCE = 1.0
"""Standard errors within which two agreements count as the same."""
SMOOTHING = 1.0
"""How many examples the mean over all classes counts as, for each class's own row of the matrix."""
TEMPERATURES = tuple(2 ** (power / 4) for power in range(-16, 17))


def fit_transition(held_out: Seen, trained_on: Seen | None = None) -> Tensor:
    """Return T [C, C], T[i, j] = P(given = j | true = i).

    Few held-out labels tell little. Examples that were trained on help out as long as the network agrees with their
    labels no more than with held-out ones, so has not learned them by heart.
    """
    return _transition(*_joined(_known(held_out), trained_on))


def fit_temperature(held_out: Seen, transition_CC: Tensor) -> Tensor:
    """Return the temperature at which T explains the held-out labels best."""
    logits_NC, given_N = _known(held_out)
    transition_CC = transition_CC.to(logits_NC)
    likelihood = [
        # Few labels hardly tell temperatures apart: a log-normal prior around 1 keeps them from running away.
        _likely((logits_NC / t).softmax(-1), transition_CC, given_N).log().sum() - math.log(t) ** 2 / 2
        for t in TEMPERATURES
    ]
    return logits_NC.new_tensor(TEMPERATURES)[torch.stack(likelihood).argmax()]


def _known(seen: Seen) -> Seen:
    logits_NC, given_N = seen
    known_N = given_N >= 0
    return logits_NC[known_N].double(), given_N[known_N].long()


def _joined(held_out: Seen, trained_on: Seen | None) -> Seen:
    if trained_on is None:
        return held_out
    more = _known(trained_on)
    if _agrees_more(_counts(*more), _counts(*held_out)):
        return held_out
    return torch.cat([held_out[0], more[0]]), torch.cat([held_out[1], more[1]])


def _likely(clean_NC: Tensor, transition_CC: Tensor, given_N: Tensor) -> Tensor:
    return (clean_NC @ transition_CC).gather(1, given_N.unsqueeze(1)).clamp(min=1e-12)


def _counts(logits_NC: Tensor, given_N: Tensor) -> Tensor:
    """Return how often each class was given for each predicted one."""
    classes = logits_NC.shape[1]
    counts_CC = logits_NC.new_zeros(classes, classes)
    return counts_CC.index_add_(0, logits_NC.argmax(-1), one_hot(given_N, classes).to(counts_CC.dtype))


def _transition(logits_NC: Tensor, given_N: Tensor) -> Tensor:
    sure_N = _sure(logits_NC, given_N)
    counts_CC = _counts(logits_NC[sure_N], given_N[sure_N])
    classes = len(counts_CC)
    # One more example on either side: nothing is certain from few.
    wrong = (counts_CC.sum() - counts_CC.diagonal().sum() + 1) / (counts_CC.sum() + 2)
    eye_CC = torch.eye(classes, dtype=counts_CC.dtype, device=counts_CC.device)
    mean_CC = (1 - wrong) * eye_CC + wrong / max(classes - 1, 1) * (1 - eye_CC)
    weight = SMOOTHING * classes
    return (counts_CC + weight * mean_CC) / (counts_CC.sum(-1, keepdim=True) + weight)


def _sure(logits_NC: Tensor, given_N: Tensor) -> Tensor:
    """Mark the surest examples of each predicted class: a quarter, and more while they agree with the labels as well.

    Where the next quarter agrees no less, beyond chance, its disagreement is noise too, and more examples tell more.
    """
    rank_N = _rank(logits_NC)
    sure_N = rank_N < SURE_SHARES[0]
    for share in SURE_SHARES[1:]:
        next_N = (rank_N < share) & ~sure_N
        sure_CC, next_CC = _counts(logits_NC[sure_N], given_N[sure_N]), _counts(logits_NC[next_N], given_N[next_N])
        if not next_N.any() or _agrees_more(sure_CC, next_CC):
            break
        sure_N = sure_N | next_N
    return sure_N


def _agrees_more(one_CC: Tensor, other_CC: Tensor) -> bool:
    """Say whether prediction and label agree more often in one count than in the other, beyond chance."""
    one, other = one_CC.sum().clamp(min=1), other_CC.sum().clamp(min=1)
    both_CC = one_CC + other_CC
    mean = (both_CC.diagonal().sum() + 1) / (both_CC.sum() + 2)
    error = (mean * (1 - mean) * (1 / one + 1 / other)).sqrt()
    return bool(one_CC.diagonal().sum() / one - other_CC.diagonal().sum() / other > CHANCE * error)


def _rank(logits_NC: Tensor) -> Tensor:
    """Return each example's place by confidence within its predicted class, from 0 (surest) to 1."""
    confidence_N, predicted_N = logits_NC.softmax(-1).max(-1)
    rank_N = torch.zeros_like(confidence_N)
    for label in range(logits_NC.shape[1]):
        mine = (predicted_N == label).nonzero().flatten()
        surest_first = confidence_N[mine].argsort(descending=True, stable=True)
        rank_N[mine[surest_first]] = torch.arange(len(mine), dtype=rank_N.dtype, device=rank_N.device) / max(
            len(mine), 1
        )
    return rank_N


def clean_probability(logits_BC: Tensor, given_BC: Tensor, transition_CC: Tensor) -> Tensor:
    """Return P(the given label is right | input, given label) by Bayes' rule; for a soft label, its mean."""
    prior_BC = logits_BC.softmax(-1)
    likely_BC = (prior_BC @ transition_CC).clamp(min=torch.finfo(prior_BC.dtype).tiny)
    return (given_BC * prior_BC * transition_CC.diagonal() / likely_BC).sum(-1)
