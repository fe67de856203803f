"""Which quantities of a run are shown over its epochs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from matplotlib.figure import Figure

from pencil.figures.epochs import Line, Stretch, fill
from pencil.figures.style import ACCENT, CORRECTED, GIVEN, MUTED, look

History = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Panel:
    """One figure over the epochs."""

    title: str
    lines: tuple[Line, ...]
    unit: str = "%"
    broken: bool = False
    learned: bool = False
    """Whether it measures labels as they were learned, which need not be those a run ends with."""

    @property
    def description(self) -> str:
        """The figure in words, for those who don't see it."""
        ends = "; ".join(
            f"{line.name} from {line.values[0]:.3g}{self.unit} to {line.values[-1]:.3g}{self.unit}"
            for line in self.lines
        )
        return f"{self.title} over the epochs: {ends}."


def panels(history: History, result: Mapping[str, Any]) -> list[Panel]:
    """Return the panels that a run's history has values for."""
    asked = [
        Panel("Accuracy of the network", _accuracies(history)),
        _labels(history, result),
        Panel("Labels changed so far", _counts(history), unit=""),
        Panel("Loss", tuple(_line(history, "loss", "loss", ACCENT)), unit="", broken=True),
    ]
    return [panel for panel in asked if panel.lines]


def draw_panels(history: History, result: Mapping[str, Any]) -> Figure:
    """Draw all panels of a run in one picture, on white, under each other."""
    shown, phases = panels(history, result), stretches(history)
    with look():
        figure = Figure(figsize=(6.4, 2.7 * max(len(shown), 1)))
        for place, panel in enumerate(shown, start=1):
            axes = figure.add_subplot(len(shown), 1, place)
            fill(axes, panel.lines, phases, unit=panel.unit, broken=panel.broken)
            axes.set_title(panel.title, pad=18)
        edge = 0.5 / figure.get_figheight()
        figure.subplots_adjust(left=0.1, right=0.76, bottom=edge, top=1 - edge, hspace=0.62)
        return figure


def stretches(history: History) -> list[Stretch]:
    """Return the phases of a run, as its history has them."""
    grouped = groupby(enumerate(history, start=1), key=lambda pair: str(pair[1].get("phase", "")))
    spans = [(name, [number for number, _ in pairs]) for name, pairs in grouped]
    return [Stretch(name, numbers[0], numbers[-1]) for name, numbers in spans]


def _accuracies(history: History) -> tuple[Line, ...]:
    return (
        *_line(history, "test_accuracy", "test", ACCENT),
        *_line(history, "held_out_accuracy", "held out", MUTED),
        *_line(history, "train_accuracy", "given labels", GIVEN),
    )


def _labels(history: History, result: Mapping[str, Any]) -> Panel:
    """Show how many labels are right where that is known, else how far network and labels agree."""
    right = _line(history, "label_accuracy", "corrected", CORRECTED)
    if not right:
        agree = tuple(_line(history, "agreement", "agree", CORRECTED))
        return Panel("Network agrees with the labels it learned", agree, learned=True)
    line, given = right[0], (result.get("label_accuracy") or {}).get("given")
    if given is None:
        return Panel("Correct training labels", (line,), learned=True)
    ends = (line.epochs[0], line.epochs[-1])
    return Panel("Correct training labels", (line, Line("given", ends, (given, given), GIVEN, "--")), learned=True)


def _counts(history: History) -> tuple[Line, ...]:
    lines = _line(history, "relabelled", "changed", CORRECTED)
    return tuple(lines) if any(any(line.values) for line in lines) else ()


def _line(history: History, key: str, name: str, colour: str) -> list[Line]:
    points = [(n, float(r[key])) for n, r in enumerate(history, start=1) if _is_number(r.get(key))]
    return [Line(name, [epoch for epoch, _ in points], [value for _, value in points], colour)] if points else []


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == value
