"""Whether a run's network knows enough to correct labels, by what its last epoch came to."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.quality.trust import caution, contradicts, hint, nothing_learned
from pencil.results.history import last_standing
from pencil.run.planning.plan import Plan


def beware(plan: Plan, history: Sequence[Mapping[str, Any]]) -> str | None:
    """Say what to beware of before labels are used; None where all is well, or where nothing tells."""
    if (nothing := _nothing_learned(plan, history)) is not None:
        return nothing
    known, held_out = _known(plan, history), plan.dataset.held_out
    if not known or held_out is None:
        return None
    return caution(**known, common=_most_common(held_out.given))


def look_first(plan: Plan, history: Sequence[Mapping[str, Any]]) -> str | None:
    """Say what to look at before labels are used, where there is nothing surer to beware of."""
    if beware(plan, history) is not None:
        return None
    known = _known(plan, history)
    return hint(**known) if known else None


def has_last_word(plan: Plan, history: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether the network has a say in what labels end as: not one that may know too little."""
    known = _known(plan, history)
    return not (known and contradicts(**known))


def _known(plan: Plan, history: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count labels that the network agrees with, did not learn, kept and learned; nothing where none were held out."""
    held_out, last = plan.dataset.held_out, last_standing(history) if history else {}
    if held_out is None or "held_out_accuracy" not in last:
        return {}
    learned, unlearned = _labelled(plan.dataset.train.given), _labelled(held_out.given)
    return {
        "agreeing": round(last["held_out_accuracy"] * unlearned / 100),
        "held_out": unlearned,
        "kept": learned - last["relabelled"],
        "learned": learned,
    }


def _nothing_learned(plan: Plan, history: Sequence[Mapping[str, Any]]) -> str | None:
    last, given = last_standing(history) if history else {}, plan.dataset.train.given
    if "agreement" not in last:
        return None
    learned = _labelled(given)
    agreeing = round(last["agreement"] * learned / 100)
    return nothing_learned(agreeing=agreeing, learned=learned, common=_most_common(given))


def _most_common(given: NDArray[np.int64]) -> int:
    return int(np.bincount(given[given >= 0], minlength=1).max())


def _labelled(given: NDArray[np.int64]) -> int:
    return int((given >= 0).sum())
