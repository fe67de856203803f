"""Fits the lengths of a run's phases into the time there is."""

import math
from numbers import Real

from pencil.errors import PencilError
from pencil.run.planning.lengths import shared
from pencil.run.planning.plan import Plan
from pencil.run.training.estimate import estimate_seconds
from pencil.run.training.machine import Machine

MOST = 5
"""How many times as long as usual a run may become: beyond that epochs bring next to nothing."""


def lengths_for(plan: Plan, machine: Machine, seconds: float) -> list[int]:
    """Return the epochs of each phase with which a planned run takes about so long, as measured on this machine."""
    if not isinstance(seconds, Real) or not 0 < seconds < math.inf:
        raise PencilError(f"the budget is {seconds!r}; give a number of seconds, more than 0.")
    if machine.processes.count > 1:
        raise PencilError("--budget is for one process; give several the lengths of their phases with --epochs.")
    usual = [phase.usual for phase in plan.phases]
    trained = [phase.epochs > 0 for phase in plan.phases]
    if not any(trained):
        raise PencilError("all phases have 0 epochs, so there is nothing to share --budget among; let one have some.")
    total = int(seconds / (estimate_seconds(plan, machine) / max(plan.epochs, 1)))
    if total < sum(trained):
        raise PencilError(
            f"{seconds:g} seconds are enough for {total} epochs on this machine, and the {sum(trained)} phases need at"
            " least one each; give a longer --budget, a smaller --backbone or fewer examples."
        )
    lengths = shared(min(total, MOST * sum(usual)), usual)
    return [max(1, length) if wanted else 0 for length, wanted in zip(lengths, trained, strict=True)]
