"""What the noise is like, as far as noisy labels tell that were not learned, and how likely each label is right by it.

Among the examples a network is surest of, disagreement with the given labels is noise: there it shows which classes
are taken for which. Elsewhere disagreement may as well be the network's own doubt; a temperature says how far its
outputs can be believed. Shapes: N examples, B examples of a batch, C classes.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from pencil.chance import MANY, is_higher

Seen = tuple[Tensor, Tensor]
"""A network's outputs [N, C] for some examples, and the labels given to them [N]; -1 where there is none."""
SURE_SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the examples of each predicted class that may count as sure."""
SUREST_SHARES = (0.0625, 0.125, *SURE_SHARES)
"""The same where held-out labels need no help: a weak network is wrong about many of a quarter."""
CHANCE = 1.0
"""Standard errors within which two agreements count as the same, or a class as named often enough."""
CHANCE_OF_THE_SUREST = 1.5
"""The same where the surest are so few that little is known from them alone."""
SMOOTHING = 1.0
"""How many examples the mean over all classes counts as, for each class's own row of the matrix, times the classes."""
WEIGHTS = tuple(2.0**power for power in range(15))
"""The same, not times the classes, where labels enough are held out for the rows themselves to tell."""
LEAST_SHARE = 1e-6
LEAST_DOUBT = 1e-3
"""A network that is sure of everything keeps its own shares, and divides nothing by zero."""
ROUNDS = 30
"""Corrections after which named shares are those wanted, to a thousandth."""
LEAST_FIRST = 0.75
"""Share of its examples that a class must at least be the first choice for."""
SHARPER = (1 / 2, 1 / 4, 1 / 8)
"""Temperatures at which beliefs come ever closer to first choices."""
TEMPERATURES = tuple(2 ** (power / 4) for power in range(-16, 17))


def fit_transition(held_out: Seen, trained_on: Seen | None = None) -> Tensor:
    """Return T [C, C], T[i, j] = P(given = j | true = i).

    Few held-out labels tell little. Examples that were trained on help out as long as the network agrees with their
    labels no more than with held-out ones, the surest included, so has not learned them by heart. Of many, the surest
    that count are few to each class all the same: rows of T differ as far as they differ beyond chance.
    """
    held_out = _known(held_out)
    counts_CC = _sure_counts(held_out, trained_on)
    if len(held_out[1]) < MANY:
        return _smoothed(counts_CC, SMOOTHING * len(counts_CC))
    return _told_by_rows(counts_CC)


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


def fit_shares(held_out: Seen, trained_on: Seen | None, temperature: Tensor, given_C: Tensor) -> Tensor:
    """Return the share of each class: what explains how often each was given, or as far as that is unknown, named.

    Shares are told by all given labels, but through T, and a class's own row of it by few: rows count here as far as
    they differ beyond chance. A network names a class too often or too rarely by about as much as it doubts.
    """
    counts_CC = _sure_counts(_known(held_out), trained_on)
    transition_CC = _told_by_rows(counts_CC)
    named_NC = _named(held_out, trained_on, temperature).softmax(-1)
    named_C = (named_NC.sum(0) / max(len(named_NC), 1)).clamp(min=LEAST_SHARE).log()
    doubt = ((1 - named_NC.amax(-1)).sum() / max(len(named_NC), 1)).clamp(min=LEAST_DOUBT)
    given_C = given_C.to(named_C) / given_C.sum().clamp(min=1)
    change_C = torch.zeros_like(named_C, requires_grad=True)
    optimizer = torch.optim.LBFGS([change_C], max_iter=100, line_search_fn="strong_wolfe")

    def cost() -> Tensor:
        optimizer.zero_grad()
        likely_C = ((named_C + change_C).softmax(-1) @ transition_CC).clamp(min=1e-12)
        total = (change_C / doubt).square().sum() / 2 - counts_CC.sum() * (given_C * likely_C.log()).sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    with torch.enable_grad():
        optimizer.step(cost)  # type: ignore[no-untyped-call]
    return (named_C + change_C.detach()).softmax(-1)


def fit_bias(held_out: Seen, trained_on: Seen | None, temperature: Tensor, share_C: Tensor) -> Tensor:
    """Return what is to be added to a network's outputs so that they name each class as often as its share is.

    A class that a hesitant network likes less is never named once the network is made sure, and labels that follow it
    would lose the class. Beliefs are made to name it, which hold more of what the network knows than first choices
    do; and first choices, where a class would be lost all the same.
    """
    outputs_NC = _named(held_out, trained_on, temperature)
    bias_C, share_C = outputs_NC.new_zeros(outputs_NC.shape[1]), share_C.to(outputs_NC)
    bias_C = _matched(outputs_NC, bias_C, share_C, 1.0)
    if _loses_a_class(outputs_NC + bias_C, share_C):
        for sharper in SHARPER:
            bias_C = _matched(outputs_NC, bias_C, share_C, sharper)
    return bias_C - bias_C.mean()


def _matched(outputs_NC: Tensor, bias_C: Tensor, share_C: Tensor, temperature: float) -> Tensor:
    for _ in range(ROUNDS if len(outputs_NC) else 0):
        named_C = ((outputs_NC + bias_C) / temperature).softmax(-1).mean(0)
        bias_C = bias_C + temperature * (share_C / named_C.clamp(min=LEAST_SHARE)).log()
    return bias_C


def _loses_a_class(outputs_NC: Tensor, share_C: Tensor) -> bool:
    """Say whether a class is believed in a little everywhere, but too rarely most of all: labels follow that."""
    first_C = torch.bincount(outputs_NC.argmax(-1), minlength=len(share_C))
    expected_C = share_C * len(outputs_NC)
    return bool((first_C < LEAST_FIRST * expected_C - CHANCE * expected_C.sqrt()).any())


def _named(held_out: Seen, trained_on: Seen | None, temperature: Tensor) -> Tensor:
    # A few examples are of other classes than the rest by chance: where there are no more, those trained on count too.
    seen = (held_out,) if trained_on is None else (held_out, trained_on)
    outputs_NC = torch.cat([_known(each)[0] for each in seen])
    return outputs_NC / temperature.to(outputs_NC)


def _told_by_rows(counts_CC: Tensor) -> Tensor:
    """Return T with rows as far from their mean as explains the counts best."""
    mean_CC = _mean_transition(counts_CC)
    return _smoothed(counts_CC, max(WEIGHTS, key=lambda weight: _evidence(counts_CC, weight * mean_CC)))


def _evidence(counts_CC: Tensor, prior_CC: Tensor) -> float:
    """Return how likely such counts are where every row's chances were drawn around the mean's (Dirichlet).

    Rows that differ no more than by chance speak for a heavy mean: all classes together then tell the noise.
    """
    each_C = torch.lgamma(prior_CC.sum(-1)) - torch.lgamma(prior_CC.sum(-1) + counts_CC.sum(-1))
    each_CC = torch.lgamma(prior_CC + counts_CC) - torch.lgamma(prior_CC)
    return float(each_C.sum() + each_CC.sum())


def _known(seen: Seen) -> Seen:
    logits_NC, given_N = seen
    known_N = given_N >= 0
    return logits_NC[known_N].double(), given_N[known_N].long()


def _joined(held_out: Seen, trained_on: Seen | None) -> Seen:
    if trained_on is None:
        return held_out
    more = _known(trained_on)
    # A network is surest where it learned a label by heart: among the surest that shows before it does on the whole.
    if not len(held_out[1]) or _knows_more_of(more, held_out) or _knows_more_of(_surest(more), _surest(held_out)):
        return held_out
    return torch.cat([held_out[0], more[0]]), torch.cat([held_out[1], more[1]])


def _knows_more_of(one: Seen, other: Seen) -> bool:
    return _agrees_more(_counts(*one), _counts(*other))


def _surest(seen: Seen) -> Seen:
    sure_N = _rank(seen[0]) < SURE_SHARES[0]
    return seen[0][sure_N], seen[1][sure_N]


def _likely(clean_NC: Tensor, transition_CC: Tensor, given_N: Tensor) -> Tensor:
    return (clean_NC @ transition_CC).gather(1, given_N.unsqueeze(1)).clamp(min=1e-12)


def _counts(logits_NC: Tensor, given_N: Tensor) -> Tensor:
    """Return how often each class was given for each predicted one."""
    classes = logits_NC.shape[1]
    counts_CC = logits_NC.new_zeros(classes, classes)
    return counts_CC.index_add_(0, logits_NC.argmax(-1), one_hot(given_N, classes).to(counts_CC.dtype))


def _smoothed(counts_CC: Tensor, weight: float) -> Tensor:
    return (counts_CC + weight * _mean_transition(counts_CC)) / (counts_CC.sum(-1, keepdim=True) + weight)


def _sure_counts(held_out: Seen, trained_on: Seen | None) -> Tensor:
    logits_NC, given_N = _joined(held_out, trained_on)
    few = len(held_out[1]) < MANY
    sure_N = _sure(logits_NC, given_N, SURE_SHARES if few else SUREST_SHARES, CHANCE if few else CHANCE_OF_THE_SUREST)
    return _counts(logits_NC[sure_N], given_N[sure_N])


def _mean_transition(counts_CC: Tensor) -> Tensor:
    """Return the matrix that takes all classes as equally noisy, and all mistakes as equally likely."""
    classes = len(counts_CC)
    # One more example on either side: nothing is certain from few.
    wrong = (counts_CC.sum() - counts_CC.diagonal().sum() + 1) / (counts_CC.sum() + 2)
    eye_CC = torch.eye(classes, dtype=counts_CC.dtype, device=counts_CC.device)
    return (1 - wrong) * eye_CC + wrong / max(classes - 1, 1) * (1 - eye_CC)


def _sure(logits_NC: Tensor, given_N: Tensor, shares: tuple[float, ...], chance: float = CHANCE) -> Tensor:
    """Mark the surest examples of each predicted class: a share, and more while they agree with the labels as well.

    Where the next ones agree no less, beyond chance, their disagreement is noise too, and more examples tell more.
    """
    rank_N = _rank(logits_NC)
    sure_N = rank_N < shares[0]
    for share in shares[1:]:
        next_N = (rank_N < share) & ~sure_N
        sure_CC, next_CC = _counts(logits_NC[sure_N], given_N[sure_N]), _counts(logits_NC[next_N], given_N[next_N])
        if not next_N.any() or _agrees_more(sure_CC, next_CC, chance):
            break
        sure_N = sure_N | next_N
    return sure_N


def _agrees_more(one_CC: Tensor, other_CC: Tensor, chance: float = CHANCE) -> bool:
    """Say whether prediction and label agree more often in one count than in the other, beyond chance."""
    one, other = (float(counts_CC.diagonal().sum()) for counts_CC in (one_CC, other_CC))
    return is_higher(one, float(one_CC.sum()), other, float(other_CC.sum()), errors=chance)


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
