"""Keep a label, replace it, or let a person look: two thresholds that can be moved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError
from pencil.quality.score import Scores

DECISIONS = ("keep", "relabel", "review")


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Where keeping ends and relabelling begins; what lies between is for review."""

    keep_quality: float = 0.5
    """Least quality of a label that is kept unseen; 0.5 is where the evidence for and against it balances.
    A label is replaced unseen only when the evidence against it is as strong: quality at most 1 − keep_quality."""
    relabel_confidence: float = 0.7
    """Least confidence (max y^d) of a label that replaces the given one unseen."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value <= 1:
                raise PencilError(f"{name} is {value}; give a number from 0 to 1.")


def decide(
    scores: Scores,
    given: NDArray[Any],
    thresholds: Thresholds | None = None,
    trusted: NDArray[np.bool_] | None = None,
) -> NDArray[np.str_]:
    """Return `keep`, `relabel` or `review` for each example; one without a label is relabelled or reviewed."""
    limits = thresholds or Thresholds()
    given = np.asarray(given)
    if given.shape != scores.corrected.shape:
        raise PencilError(
            f"given has shape {given.shape}, the scores {scores.corrected.shape}; give the same examples."
        )
    labelled = given >= 0
    same = scores.corrected == given
    # Without a label quality is NaN: nothing speaks against the corrected label but its own confidence.
    against = ~labelled | (scores.quality <= 1 - limits.keep_quality)
    keep = same & (scores.quality >= limits.keep_quality)
    if trusted is not None:
        keep |= np.asarray(trusted, dtype=bool) & labelled
    relabel = ~keep & ~same & against & (scores.confidence >= limits.relabel_confidence)
    return np.select([keep, relabel], ["keep", "relabel"], "review")


def decide_known(
    scores: Scores,
    given: NDArray[Any],
    known: NDArray[np.bool_],
    apart: NDArray[np.bool_],
    thresholds: Thresholds | None = None,
    *,
    careful: bool,
) -> NDArray[np.str_]:
    """Decide where some corrected labels are known to be right: those stand, be it as given or as a person chose.

    Where a network that may know too little speaks alone, of examples that it never learned (`apart`) or that have no
    label, one has to be `careful`: a person must look.
    """
    decided = decide(scores, given, thresholds, trusted=known)
    alone = apart | (np.asarray(given) < 0)
    seen = np.where(careful & alone & (decided == "relabel"), "review", decided)
    return np.where(known & (scores.corrected != given), "relabel", seen)


def count(decisions: NDArray[np.str_]) -> dict[str, int]:
    """Count each kind of decision."""
    return {name: int(np.count_nonzero(decisions == name)) for name in DECISIONS}


def touched(
    scores: Scores,
    given: NDArray[Any],
    thresholds: Thresholds,
    trusted: NDArray[np.bool_] | None = None,
) -> Mapping[str, int]:
    """Count what these thresholds would keep, relabel and send to review, before anyone settles on them."""
    return count(decide(scores, given, thresholds, trusted))
