"""The settings of a `LabelTable`: the usual ones, what is asked for instead, and what is refused."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from pencil import methods, recipes
from pencil.config import PhaseSettings, Schedule, merge, plain_numbers
from pencil.errors import PencilError
from pencil.flips import falling_step, scale_for_classes
from pencil.run.planning.plan import one_spelling

OPTIONS = {
    "compatibility": "code",
    "anchor": 0.5,
    "entropy_weight": 0.4,
    "init_scale": 0.0,
    "divide_by_classes": False,
}
"""The method's options where none are given: those of the recipe "auto" need an engine that averages and mixes."""

LABEL_STEP = 0.6
"""Where there are as many epochs as usual; with fewer it is larger."""
LONGEST = 40
"""Epochs of a phase where none are given: nobody watches held-out labels here and leaves a phase in time."""

ENGINES_OWN = ("from_best", "settle", "by_clean_probability", "by_class_shares")
"""Options that the engine carries out, with a network, an average and held-out labels that are not known here."""


def class_count(num_classes: Any) -> int:
    """Return the number of classes, or refuse what is none."""
    found = _whole([num_classes])
    if not found or found[0] < 2:
        raise PencilError(f"num_classes is {num_classes!r}; give a whole number, at least 2.")
    return found[0]


def over_usual(asked: Mapping[str, Any], num_classes: int, label_epochs: int) -> dict[str, Any]:
    """Return the usual options for so many epochs of label learning, under those asked for.

    These must be some that this loop carries out.
    """
    for name in ENGINES_OWN:
        if asked.get(name):
            raise PencilError(
                f"options.{name} is carried out by pencil.fit and pencil train alone, not in a loop of your own;"
                " leave it out."
            )
    step = falling_step(LABEL_STEP, scale_for_classes(num_classes), label_epochs)
    mine = {"options": plain_numbers(asked)}
    options: dict[str, Any] = one_spelling(merge({"options": OPTIONS | {"label_step": step}}, mine), mine)["options"]
    return options


def usual_phases(num_examples: int, num_classes: int, epochs: Sequence[int] | None) -> dict[str, PhaseSettings]:
    """Return the phases' settings: as long as asked for, or as usual with so many examples."""
    facts = recipes.Facts(num_examples, num_classes, "rows", methods.kind("pencil").phase_names)
    usual = recipes.resolve("auto", "pencil", facts)["phases"]
    lengths = [min(phase["epochs"], LONGEST) for phase in usual.values()] if epochs is None else _whole(epochs)
    if len(lengths) != len(usual) or min(lengths) < 0:
        raise PencilError(f"epochs is {epochs}; give a whole number, 0 or more, for each phase: {', '.join(usual)}.")
    rates = [Schedule.parse(phase["lr"]) for phase in usual.values()]
    return {name: PhaseSettings(epochs=n, lr=lr) for name, n, lr in zip(usual, lengths, rates, strict=True)}


def _whole(epochs: Sequence[int]) -> list[int]:
    """Return the numbers of epochs, none where they are not whole."""
    try:
        return [operator.index(count) for count in epochs]
    except TypeError:
        return []
