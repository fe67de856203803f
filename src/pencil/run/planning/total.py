"""Plans a run by the number of epochs it has in all."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pencil.config import Schedule, plain_numbers
from pencil.config.ranges import EPOCHS
from pencil.errors import PencilError
from pencil.flips import at_once
from pencil.run.planning.lengths import shared
from pencil.run.planning.plan import Document, Plan

Whole = (int, np.integer)


def read_epochs(epochs: Any) -> int | list[int] | None:
    """Return epochs as a user gives them: a total, one number for each phase, or None."""
    epochs = plain_numbers(epochs)
    if epochs is None:
        return None
    several = not isinstance(epochs, (*Whole, str)) and hasattr(epochs, "__iter__")
    numbers = list(epochs) if several else [epochs]
    if not all(isinstance(number, Whole) for number in numbers) or not any(number > 0 for number in numbers):
        raise PencilError(f"epochs is {epochs!r}; give a whole number, at least 1, or one for each phase.")
    EPOCHS.check(max(numbers), "epochs")
    return [int(number) for number in numbers] if several else int(epochs)


def plan_epochs(planned: Callable[..., Plan], asked: Document, epochs: int | Sequence[int] | None) -> Plan:
    """Plan with `planned(asked, epochs=…)`; a total is shared among phases in proportion to their usual lengths."""
    if not isinstance(epochs, int):
        return planned(asked, epochs=epochs)
    usual = planned(asked, epochs=None)
    if not any(phase.usual for phase in usual.phases):
        raise PencilError(
            "all phases have 0 epochs, so there is nothing to share --epochs among; give a number for each phase."
        )
    lengths = shared(epochs, [phase.usual for phase in usual.phases])
    mine = asked.get("options", {})
    steps = {name: step for name, step in _steps(usual, lengths).items() if name not in mine}
    return planned(asked, epochs=lengths, steps=steps)


def _steps(usual: Plan, lengths: Sequence[int]) -> dict[str, str]:
    """Let labels take larger steps where they get fewer of them, so that they can move as far as usual.

    No larger than it takes to flip a label in one epoch: what goes beyond that no later epoch can take back.
    """
    options = {}
    for phase, length in zip(usual.phases, lengths, strict=True):
        for name in type(usual.method).phase_schedules.get(phase.name, ()):
            if phase.label_step and length and usual.settings.options.get(name) is not None:
                step = Schedule.parse(usual.settings.options[name])
                most = at_once(usual.method.label_scale) / max(phase.label_step.at(0, phase.epochs), 1e-9)
                larger = step.times(max(1.0, min(phase.epochs / length, most)))
                options[name] = str(larger.stretched(length / phase.epochs))
    return options
