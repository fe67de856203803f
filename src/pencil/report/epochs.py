"""Which quantities a report shows over the epochs."""

from dataclasses import dataclass
from typing import Any

from pencil.figures.epochs import Line
from pencil.figures.style import ACCENT, CORRECTED, GIVEN, MUTED
from pencil.report.material import Material


@dataclass(frozen=True)
class Panel:
    """One figure over the epochs."""

    title: str
    lines: tuple[Line, ...]
    unit: str = "%"
    broken: bool = False

    @property
    def description(self) -> str:
        """The figure in words, for those who don't see it."""
        ends = "; ".join(
            f"{line.name} from {line.values[0]:.3g}{self.unit} to {line.values[-1]:.3g}{self.unit}"
            for line in self.lines
        )
        return f"{self.title} over the epochs: {ends}."


def panels(material: Material) -> list[Panel]:
    """Return the panels that the run's history has values for."""
    asked = [
        Panel("Accuracy of the network", _accuracies(material)),
        _labels(material),
        Panel("Labels changed so far", _counts(material), unit=""),
        Panel("Loss", tuple(_line(material, "loss", "loss", ACCENT)), unit="", broken=True),
    ]
    return [panel for panel in asked if panel.lines]


def _accuracies(material: Material) -> tuple[Line, ...]:
    return (
        *_line(material, "test_accuracy", "test", ACCENT),
        *_line(material, "held_out_accuracy", "held out", MUTED),
        *_line(material, "train_accuracy", "given labels", GIVEN),
    )


def _labels(material: Material) -> Panel:
    """Show how many labels are right where that is known, else how far network and labels agree."""
    right = _line(material, "label_accuracy", "corrected", CORRECTED)
    if not right:
        return Panel(
            "Network agrees with the labels it learned", tuple(_line(material, "agreement", "agree", CORRECTED))
        )
    line, given = right[0], (material.result.get("label_accuracy") or {}).get("given")
    if given is None:
        return Panel("Correct training labels", (line,))
    ends = (line.epochs[0], line.epochs[-1])
    return Panel("Correct training labels", (line, Line("given", ends, (given, given), GIVEN, "--")))


def _counts(material: Material) -> tuple[Line, ...]:
    lines = _line(material, "relabelled", "changed", CORRECTED)
    return tuple(lines) if any(any(line.values) for line in lines) else ()


def _line(material: Material, key: str, name: str, colour: str) -> list[Line]:
    points = [(n, float(r[key])) for n, r in enumerate(material.history, start=1) if _is_number(r.get(key))]
    return [Line(name, [epoch for epoch, _ in points], [value for _, value in points], colour)] if points else []


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == value
