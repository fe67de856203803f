"""Whether a run's network knows enough to correct labels, by what its last epoch came to."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.quality.trust import caution
from pencil.run.plan import Plan


def beware(plan: Plan, history: Sequence[Mapping[str, Any]]) -> str | None:
    """Say what to beware of before labels are used; None where all is well, or where no labels were held out."""
    held_out, last = plan.dataset.held_out, history[-1] if history else {}
    if held_out is None or "held_out_accuracy" not in last:
        return None
    learned, unlearned = _labelled(plan.dataset.train.given), _labelled(held_out.given)
    return caution(
        agreeing=round(last["held_out_accuracy"] * unlearned / 100),
        held_out=unlearned,
        kept=learned - last["relabelled"],
        learned=learned,
    )


def _labelled(given: NDArray[np.int64]) -> int:
    return int((given >= 0).sum())
