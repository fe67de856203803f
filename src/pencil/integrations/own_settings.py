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


def over_usual(asked: Mapping[str, Any], num_classes: int, lengths: Mapping[str, int]) -> dict[str, Any]:
    """Return the usual options for phases so long under those asked for, which this loop must be able to carry out."""
    for name in ENGINES_OWN:
        if asked.get(name):
            raise PencilError(
                f"options.{name} is carried out by pencil.fit and pencil train alone, not in a loop of your own;"
                " leave it out."
            )
    step = recipes.label_step(LABEL_STEP, num_classes, lengths["labels"])
    mine = {"options": asked}
    options: dict[str, Any] = one_spelling(merge({"options": OPTIONS | {"label_step": step}}, mine), mine)["options"]
    return options


def lengths_of(num_examples: int, num_classes: int, epochs: Sequence[int] | None) -> dict[str, int]:
    """Return the epochs of each phase: those asked for, or as many as usual with so many examples."""
    usual = _usual(num_examples, num_classes)
    lengths = [min(phase["epochs"], LONGEST) for phase in usual.values()] if epochs is None else _whole(epochs)
    if len(lengths) != len(usual) or min(lengths) < 0:
        raise PencilError(f"epochs is {epochs}; give a whole number, 0 or more, for each phase: {', '.join(usual)}.")
    return dict(zip(usual, lengths, strict=True))


def phases_of(method: methods.Method, num_examples: int, lengths: Mapping[str, int]) -> tuple[Phase, ...]:
    """Return the method's phases, with the usual rates."""
    usual = _usual(num_examples, method.num_classes)
    return method.phases(
        {name: PhaseSettings(epochs=n, lr=Schedule.parse(usual[name]["lr"])) for name, n in lengths.items()}
    )


def _usual(num_examples: int, num_classes: int) -> dict[str, Any]:
    facts = recipes.Facts(num_examples, num_classes, "rows", methods.kind("pencil").phase_names)
    phases: dict[str, Any] = recipes.resolve("auto", "pencil", facts)["phases"]
    return phases


def _whole(epochs: Sequence[int]) -> list[int]:
    """Return the numbers of epochs, none where they are not whole."""
    try:
        return [operator.index(count) for count in epochs]
    except TypeError:
        return []
