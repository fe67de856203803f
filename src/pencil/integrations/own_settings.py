"""The settings of a `LabelTable`: the usual ones, what is asked for instead, and what is refused."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from pencil import methods, recipes
from pencil.config import PhaseSettings, Schedule, merge
from pencil.errors import PencilError
from pencil.run.plan import one_spelling
from pencil.types import Phase

OPTIONS = {
    "compatibility": "code",
    "anchor": 0.5,
    "entropy_weight": 0.4,
    "label_step": "0.6 -> 0",
    "init_scale": 0.0,
    "divide_by_classes": False,
}
"""The method's options where none are given: those of the recipe "auto" need an engine that averages and mixes."""

LONGEST = 40
"""Epochs of a phase where none are given: nobody watches held-out labels here and leaves a phase in time."""

ENGINES_OWN = ("from_best", "settle", "by_clean_probability", "by_class_shares")
"""Options that the engine carries out, with a network, an average and held-out labels that are not known here."""


def over_usual(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usual options under those asked for, which must be some that this loop carries out."""
    for name in ENGINES_OWN:
        if asked.get(name):
            raise PencilError(
                f"options.{name} is carried out by pencil.fit and pencil train alone, not in a loop of your own;"
                " leave it out."
            )
    mine = {"options": asked}
    options: dict[str, Any] = one_spelling(merge({"options": OPTIONS}, mine), mine)["options"]
    return options


def phases_of(method: methods.Method, num_examples: int, epochs: Sequence[int] | None) -> tuple[Phase, ...]:
    """Return the method's phases: as long as asked for, or as usual with so many examples."""
    facts = recipes.Facts(num_examples, method.num_classes, "rows", method.phase_names)
    usual = recipes.resolve("auto", "pencil", facts)["phases"]
    lengths = [min(phase["epochs"], LONGEST) for phase in usual.values()] if epochs is None else _whole(epochs)
    if len(lengths) != len(usual) or min(lengths) < 0:
        raise PencilError(f"epochs is {epochs}; give a whole number, 0 or more, for each phase: {', '.join(usual)}.")
    rates = [Schedule.parse(phase["lr"]) for phase in usual.values()]
    return method.phases(
        {name: PhaseSettings(epochs=n, lr=lr) for name, n, lr in zip(usual, lengths, rates, strict=True)}
    )


def _whole(epochs: Sequence[int]) -> list[int]:
    """Return the numbers of epochs, none where they are not whole."""
    try:
        return [operator.index(count) for count in epochs]
    except TypeError:
        return []
