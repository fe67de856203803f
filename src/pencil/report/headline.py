"""The run in one sentence and a few large numbers."""

from dataclasses import dataclass
from typing import Any

from pencil.quality.decide import count
from pencil.report.material import Material
from pencil.results.lost_classes import line_of


@dataclass(frozen=True)
class Tile:
    """One large number with what it means."""

    title: str
    value: str
    note: str = ""
    before: str = ""
    """The value that this one replaces, shown before it."""


def tiles(material: Material) -> list[Tile]:
    """Return the numbers that matter, those of accuracy first where they are known."""
    result = material.result
    return [
        *_accuracy(result.get("test_accuracy")),
        *_label_accuracy(result.get("label_accuracy")),
        _changed(material),
        _suspects(material),
        _noise(material),
    ]


def lead(material: Material) -> str:
    """Say in a sentence or two what the run found."""
    total, changed = int((material.given >= 0).sum()), material.result["num_changed"]
    if not total:
        return "No example had a label; every label here is what the network believes."
    if not changed and (doubted := int((material.suspect & (material.given >= 0)).sum())):
        return f"No label was changed, but {doubted:,} of {total:,} given labels are in doubt, for a person to look at."
    if not changed:
        return f"All {total:,} given labels stand: the run found none that it would change."
    found = f"{changed:,} of {total:,} given labels, about {_rate(material)}, look wrong."
    if not material.learned:
        total = int(((material.given >= 0) & (material.split != "train")).sum())
        found = f"{changed:,} of {total:,} held-out labels, about {_rate(material)}, look wrong."
        remedy = "train longer" if material.result["method"] == "pencil" else "train with the method pencil"
        return (
            f"{found} Training changed none of its own labels, so only held-out labels are questioned here; "
            f"{remedy} to have every label examined."
        )
    kinds = count(material.decision[material.suspect])
    replaced = "would be replaced" if material.result.get("caution") else "can be replaced unseen"
    return (
        f"{found} Of {sum(kinds.values()):,} suspects {kinds['relabel']:,} {replaced}, "
        f"{kinds['review']:,} are for a person to look at."
    )


def warnings(material: Material) -> list[str]:
    """Say what a person should know before believing the rest, in the words of the run's log."""
    told = [material.result[name] for name in ("caution", "hint") if material.result.get(name)]
    options = material.settings.get("options")
    lost = [line_of(material.lost, options if isinstance(options, dict) else {})] if material.lost else []
    return lost + told


def percent(value: float | None, digits: int = 1) -> str:
    """Write a percentage; a missing one is a dash."""
    return "–" if value is None or value != value else f"{value:.{digits}f}%"


def _rate(material: Material) -> str:
    return percent(material.noise.rate, 0 if material.noise.rate >= 10 else 1)


def _accuracy(test: dict[str, Any] | None) -> list[Tile]:
    if not test:
        return []
    note = f"at the end; {percent(test.get('best'))} at the best held-out epoch"
    return [Tile("Test accuracy", percent(test.get("last")), note)]


def _label_accuracy(labels: dict[str, Any] | None) -> list[Tile]:
    if not labels:
        return []
    note = "of the training labels, given → corrected"
    return [Tile("Correct labels", percent(labels.get("corrected")), note, before=percent(labels.get("given")))]


def _changed(material: Material) -> Tile:
    changed = material.result["num_changed"]
    return Tile("Labels changed", f"{changed:,}", f"of {int((material.given >= 0).sum()):,} given labels")


def _suspects(material: Material) -> Tile:
    kinds = count(material.decision[material.suspect])
    note = f"{kinds['relabel']:,} to relabel, {kinds['review']:,} to review"
    return Tile("Suspects", f"{material.result['num_suspect']:,}", note)


def _noise(material: Material) -> Tile:
    low, high = material.noise.rate_interval
    note = "" if low != low else f"95% interval {low:.1f} to {high:.1f}%"
    return Tile("Estimated noise", percent(material.result.get("estimated_noise_rate")), note)
