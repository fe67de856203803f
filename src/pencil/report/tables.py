"""The tables of a report: confused pairs, class balance, what a threshold touches, how well wrong labels were found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pencil.quality.decide import Thresholds
from pencil.quality.thresholds import scores_of, touched_by
from pencil.report.material import Material

if TYPE_CHECKING:
    from pencil.quality.detection import Detection

FEW, MANY = 10, 20
"""Pairs that are listed: beside a matrix, and instead of one."""


@dataclass(frozen=True)
class Pair:
    """Examples believed to be of one class that carry the label of another."""

    corrected: str
    given: str
    num_examples: int
    share: float
    """Percent of the class."""
    low: float
    high: float
    """Ends of the share's 95% interval, percent."""
    length: float
    """Its bar, as a share of the longest."""


@dataclass(frozen=True)
class Choice:
    """What one value of a threshold would do."""

    value: float
    keep: int
    relabel: int
    review: int
    chosen: bool


@dataclass(frozen=True)
class Count:
    """The examples of a class by either label."""

    name: str
    given: int
    corrected: int

    @property
    def change(self) -> int:
        return self.corrected - self.given


def pairs(material: Material, limit: int) -> list[Pair]:
    """Return the most confused pairs of classes."""
    noise = material.noise
    found = noise.most_confused(limit)
    most = max((pair.num_examples for pair in found), default=1)
    return [
        Pair(
            material.name(pair.corrected),
            material.name(pair.given),
            pair.num_examples,
            pair.share,
            100 * float(noise.lower[pair.corrected, pair.given]),
            100 * float(noise.upper[pair.corrected, pair.given]),
            pair.num_examples / most,
        )
        for pair in found
    ]


def choices(material: Material) -> dict[str, list[Choice]]:
    """Return what values of either threshold would do, by the option that sets it."""
    limits = Thresholds()
    touched = touched_by(material.table, limits, careful="caution" in material.result)
    return {
        f"--{name.replace('_', '-')}": [
            Choice(value, row["keep"], row["relabel"], row["review"], value == getattr(limits, name))
            for value, row in rows.items()
        ]
        for name, rows in touched.items()
    }


def detection(material: Material) -> Detection | None:
    """Compare with the true labels where they are known."""
    if not ((material.clean >= 0) & (material.given >= 0)).any():
        return None
    from pencil.quality.detection import measure_detection

    return measure_detection(scores_of(material.table), material.given, material.decision, material.clean)


def balance(material: Material, most: int) -> list[Count]:
    """Return the examples of each class; of more than `most` classes those twenty that change most."""
    size = len(material.classes)
    given, corrected = (
        np.bincount(labels[labels >= 0], minlength=size) for labels in (material.given, material.corrected)
    )
    rows = np.arange(size)
    if size > most:
        rows = np.sort(np.argsort(-np.abs(corrected - given), kind="stable")[:MANY])
    return [Count(material.name(row), int(given[row]), int(corrected[row])) for row in rows.tolist()]
