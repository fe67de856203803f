"""How long phases are, as a user says it, and schedules that stretch with them."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from pencil import methods
from pencil.config import Schedule
from pencil.errors import PencilError
from pencil.lines import counted

Document = Mapping[str, Any]
JUST_SO = {"patience": 0, "at_most": 0}
"""Who says how long a phase is means just so long."""


def asked_lengths(asked: Document) -> dict[str, int]:
    """Return the epochs of the phases whose length is among the settings asked for."""
    return {name: phase["epochs"] for name, phase in asked.get("phases", {}).items() if "epochs" in phase}


def phase_lengths(method: str, epochs: Sequence[int]) -> dict[str, int]:
    """Return the epochs of each of the method's phases, of which a user gives one number for each."""
    names = methods.kind(method).phase_names
    if len(epochs) != len(names):
        numbers, phases = counted(len(epochs), "number"), counted(len(names), "phase")
        raise PencilError(f"--epochs has {numbers}, but {method} has {phases}: {', '.join(names)}.")
    if min(epochs, default=0) < 0:
        raise PencilError(f"--epochs has the number {min(epochs)}; give 0 or more.")
    return dict(zip(names, epochs, strict=True))


def shared(total: int, lengths: Sequence[int]) -> list[int]:
    """Share a number of epochs among phases in proportion to their usual lengths."""
    ends = [round(total * end / max(sum(lengths), 1)) for end in accumulate(lengths)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def refuse_other_total(saved: Document, epochs: int) -> None:
    """Refuse to go on with a run that has another number of epochs in all."""
    own = sum(asked_lengths(saved).values())
    if epochs != own:
        raise PencilError(f"--resume goes on with the run's own lengths, {own} epochs in all; leave --epochs out.")


def other_lengths(
    document: Document, asked: Document, lengths: Mapping[str, int], schedules: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """Return a layer that makes phases just so long; their schedules stretch with them, `schedules` among options.

    One that is asked for without a length of its own is meant for these lengths, and stays as it is.
    """
    phases, options = {}, {}
    for name, count in lengths.items():
        was = {"epochs": count, "lr": "0.1", **document.get("phases", {}).get(name, {})}
        # A phase left out keeps its schedule as it was: nothing can be squeezed into no epochs.
        factor = count / was["epochs"] if was["epochs"] and count else 1.0
        own = asked.get("phases", {}).get(name, {})
        stay = set() if "epochs" in own else {*own, *asked.get("options", {})}
        phases[name] = {"epochs": count, "lr": _stretched(was["lr"], 1.0 if "lr" in stay else factor), **JUST_SO}
        for option in schedules.get(name, ()):
            if document.get("options", {}).get(option) is not None:
                options[option] = _stretched(document["options"][option], 1.0 if option in stay else factor)
    return {"phases": phases, **({"options": options} if options else {})}


def _stretched(schedule: Any, factor: float) -> str:
    return str(Schedule.parse(schedule).stretched(factor))
