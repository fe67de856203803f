"""Scores the labels of new data with a finished run: how good each is, what it should be, what to do; no training.

Shapes: N examples.
"""

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError
from pencil.quality.decide import Thresholds, count, decide_known
from pencil.quality.score import Scores, score
from pencil.results.folder import RunFolder
from pencil.results.summary import read_summary
from pencil.run import Predictions, predict_run


@dataclass(frozen=True, eq=False)
class Audit:
    """What a run thinks of labels that it never saw."""

    predictions: Predictions
    scores: Scores
    decision: NDArray[np.str_]
    """[N] keep, relabel or review."""

    def columns(self) -> dict[str, list[Any]]:
        """Return one row an example: id, given, suggested, confidence, quality, decision."""
        names = self.predictions.class_names
        return {
            "id": [str(name) for name in self.predictions.ids],
            "given": [name or None for name in self.predictions.given_names],
            "suggested": [names[label] for label in self.scores.corrected],
            "confidence": [round(float(value), 6) for value in self.scores.confidence],
            "quality": [None if np.isnan(value) else round(float(value), 6) for value in self.scores.quality],
            "decision": [str(word) for word in self.decision],
        }

    @property
    def counts(self) -> dict[str, int]:
        """How many labels to keep, relabel and review."""
        return count(self.decision)

    @property
    def unlabelled(self) -> int:
        """How many examples have no label; they count as ones to relabel or review."""
        return sum(not name for name in self.predictions.given_names)

    @property
    def unknown(self) -> dict[str, int]:
        """Labels that name no class of the run, and how often."""
        return _unknown(self.predictions)


def audit_run(run: str | Path, source: Any, *, thresholds: Thresholds | None = None, **reading: Any) -> Audit:
    """Score the labels of a source; `reading` says how it is read, as for `predict_run`.

    The network alone speaks: it never learned from these labels, and their noise may be another than the run's. One
    that names no class of the run has quality 0. Where the run has a caution, none is to be replaced unseen.
    """
    predictions = predict_run(run, source, **{"split": "train", **reading})
    caution = read_summary(RunFolder(Path(run)).result).get("caution")
    if caution:
        predictions = replace(predictions, notes=(*predictions.notes, caution))
    _check(predictions, source, run)
    own = score(predictions.probabilities, None, predictions.given)
    stray = (predictions.given < 0) & (np.array(predictions.given_names) != "")
    scores = Scores(own.corrected, own.confidence, own.entropy, np.where(stray, 0.0, own.quality))
    known, apart = (np.full(len(stray), yes) for yes in (False, True))
    decision = decide_known(scores, predictions.given, known, apart, thresholds, careful=bool(caution))
    return Audit(predictions, scores, decision)


def _unknown(predictions: Predictions) -> dict[str, int]:
    pairs = zip(predictions.given, predictions.given_names, strict=True)
    strays = Counter(name for label, name in pairs if label < 0 and name)
    return {name: strays[name] for name in sorted(strays)}


def _check(predictions: Predictions, source: Any, run: str | Path) -> None:
    if (predictions.given >= 0).any():
        return
    strays: Mapping[str, int] = _unknown(predictions)
    in_a_file = isinstance(source, (str, Path))
    name = source if in_a_file else "what is given"
    if not strays:
        command = shlex.join(["pencil", "predict", str(run), str(source)])
        way = command if in_a_file else f"pencil.load({str(run)!r}).predict"
        raise PencilError(f"{name} has no labels to audit; for its classes use: {way}")
    raise PencilError(
        f"no label of {name} ({_some(list(strays))}) is a class of the run ({_some(predictions.class_names)});"
        " give data with the run's classes."
    )


def _some(names: list[str] | tuple[str, ...], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
