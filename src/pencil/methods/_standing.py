"""Whether a network is known to tell mistakes in labels from its own, by its agreement with labels it never learned."""

import math

import torch
from torch import Tensor

from pencil.methods._noise_model import CHANCE, Seen, joined, known, rank_of

SUREST = 1 / 8
"""Share of the examples, the surest, that shows how right labels are; as many after them show whether it stays so."""
ABLE = 3 / 4
"""Share of the right labels that a network finds whose disagreement with the surest is noise."""
PROOF = 3.0
"""Standard errors by which a network that finds fewer must be shown to know better than labels."""
NUMBERS = 5


def fit_standing(held_out: Seen, trained_on: Seen | None = None) -> Tensor:
    """Return a network's agreement with labels, and their number.

    It is that on the whole, of the surest eighth of each predicted class, of the surest eighth, and of the next.
    """
    logits_NC, given_N = joined(known(held_out), trained_on)
    agrees_N = (logits_NC.argmax(-1) == given_N).double()
    surest_first = logits_NC.softmax(-1).amax(-1).argsort(descending=True, stable=True)
    size = max(1, round(SUREST * len(given_N)))
    of_each = rank_of(logits_NC) < SUREST
    parts = (agrees_N, agrees_N[of_each], agrees_N[surest_first[:size]], agrees_N[surest_first[size : 2 * size]])
    return torch.stack([part.sum() / max(len(part), 1) for part in parts] + [agrees_N.new_tensor(len(given_N))])


def may_only_doubt(standing: Tensor) -> bool:
    """Say whether all disagreement with labels may be the network's own doubt, so that no noise is shown.

    By its surest of each class, of which labels may be right in some and not in others, such a network finds few of the
    right labels. It knows better all the same where it finds more than labels are right; or where the next surest
    agree with their labels as much as the surest do: what is left there is no doubt, but noise.
    """
    agrees, of_each, surest, following, count = standing.tolist()
    # Where not even the surest agree with half of their labels, to leave labels as they are is no safe choice.
    if count < 1 or surest + CHANCE * math.sqrt(surest * (1 - surest) / (SUREST * count)) < 1 / 2:
        return False
    found, error = (value / max(of_each, 1e-6) for value in (agrees, math.sqrt(agrees * (1 - agrees) / count)))
    if found >= ABLE or found - PROOF * error > surest:
        return False
    share = (surest + following) / 2
    drop = surest - following + PROOF * math.sqrt(2 * share * (1 - share) / (SUREST * count))
    return bool(drop > (1 - surest) / 2)
