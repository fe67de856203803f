"""What a report is made of: a run's files, read and checked once.

Shapes: N examples, C classes.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pencil.config import read_toml
from pencil.quality.noise import NoiseEstimate, estimate_noise, questioned
from pencil.quality.thresholds import scores_of
from pencil.results.documents import damaged
from pencil.results.folder import RunFolder
from pencil.results.labels_table import suspects
from pencil.results.lost_classes import lost_in_the_end
from pencil.results.read import Run

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

WHOLE = ("given", "corrected", "network", "changed_at", "num_changes")
"""Columns of labels.parquet that hold whole numbers."""


@dataclass(frozen=True)
class Phase:
    """A stretch of epochs, counted from 1."""

    name: str
    first: int
    last: int

    @property
    def epochs(self) -> str:
        """The epochs in words."""
        return f"epoch {self.first}" if self.first == self.last else f"epochs {self.first}–{self.last}"


@dataclass(frozen=True, eq=False)
class Material:
    """A finished run as columns of N values, with what they come to."""

    folder: RunFolder
    result: dict[str, Any]
    history: list[dict[str, Any]]
    settings: dict[str, Any]
    classes: tuple[str, ...]
    table: pa.Table
    given: Ints
    corrected: Ints
    network: Ints
    clean: Ints
    """The true labels, −1 where not known."""
    changed_at: Ints
    num_changes: Ints
    quality: Floats
    confidence: Floats
    decision: NDArray[np.str_]
    suspect: NDArray[np.bool_]
    """Where a label is not kept unseen, and no person has decided."""
    split: NDArray[np.str_]
    noise: NoiseEstimate

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Where a given label is believed to be another one."""
        differs: NDArray[np.bool_] = (self.given >= 0) & (self.corrected != self.given)
        return differs

    @property
    def learned(self) -> bool:
        """Whether training moved any label of its own examples."""
        return bool((self.changed & (self.split == "train")).any())

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The run's phases, as its history has them."""
        grouped = groupby(enumerate(self.history, start=1), key=lambda pair: str(pair[1].get("phase", "")))
        spans = [(name, [number for number, _ in pairs]) for name, pairs in grouped]
        return tuple(Phase(name, numbers[0], numbers[-1]) for name, numbers in spans)

    @property
    def lost(self) -> tuple[str, ...]:
        """Names of the classes that training examples were given, and that none is believed to be of in the end."""
        lost = lost_in_the_end(self.given, self.corrected, self.split)
        return tuple(self.classes[number] for number in sorted(lost))

    def name(self, label: int) -> str:
        """Return a class's name; −1 is no label."""
        return self.classes[label] if label >= 0 else "none"


def gather(run: Run) -> Material:
    """Read what a report needs of a run; a file that cannot be understood is named."""
    result = run.result
    table, classes, folder = run.labels, run.classes, run.folder
    try:
        given, corrected, network, changed_at, num_changes = (_whole(table, name) for name in WHOLE)
        clean = _whole(table, "clean") if "clean" in table.column_names else np.full(table.num_rows, -1)
        scores = scores_of(table)
        decision, split = (np.asarray(table[name].fill_null("")).astype(np.str_) for name in ("decision", "split"))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise damaged(folder.labels, error) from error
    for labels in (given, corrected, network, clean):
        if labels.size and not -1 <= labels.min() <= labels.max() < len(classes):
            raise damaged(folder.labels, "it names a class that classes.json does not have")
    # A rate that is null: the method moved no label, and none was held out.
    asked = questioned(given, corrected, split, moves=result["estimated_noise_rate"] is not None)
    return Material(
        folder=folder,
        result=result,
        history=run.history,
        settings=read_toml(folder.config),
        classes=classes,
        table=table,
        given=given,
        corrected=corrected,
        network=network,
        clean=clean,
        changed_at=changed_at,
        num_changes=num_changes,
        quality=scores.quality,
        confidence=scores.confidence,
        decision=decision,
        suspect=suspects(table),
        split=split,
        noise=estimate_noise(given[asked], corrected[asked], len(classes)),
    )


def _whole(table: pa.Table, name: str) -> Ints:
    return np.asarray(table[name].cast(pa.int64()).fill_null(-1))
