"""How well wrong labels were found, where the true ones are known. Used for measuring only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

from pencil.errors import PencilError
from pencil.quality.score import Scores, checked_labels


@dataclass(frozen=True, kw_only=True)
class Detection:
    """Wrong labels found, over the labelled examples whose true label is known; percent but for the two areas."""

    num_examples: int
    num_wrong: int
    label_accuracy: Mapping[str, float]
    """`given` and `corrected`: percent of labels that are right."""
    suspect: Mapping[str, float]
    """`precision`, `recall`, `f1` of "decision is not keep" as a finder of wrong labels."""
    changed: Mapping[str, float]
    """The same of "corrected is not given"."""
    auroc: float | None
    """Area under the ROC curve of 1 − quality, 0 to 1; None where all labels are right, or all wrong."""
    auprc: float | None
    """Average precision of 1 − quality, 0 to 1."""


def measure_detection(
    scores: Scores, given: NDArray[Any], decisions: NDArray[np.str_], clean: NDArray[Any]
) -> Detection:
    """Compare scores and decisions with the true labels (−1 where not known)."""
    size = len(scores.corrected)
    given = checked_labels("given", given, num_examples=size)
    clean = checked_labels("clean", clean, num_examples=size)
    if len(decisions) != size:
        raise PencilError(f"there are {len(decisions)} decisions for {size} examples; give one for each.")
    known = (given >= 0) & (clean >= 0)
    if not known.any():
        raise PencilError("no example has both a given and a true label; detection cannot be measured.")
    given, clean, corrected = given[known], clean[known], scores.corrected[known]
    wrong = given != clean
    both = bool(wrong.any() and not wrong.all())
    suspicion = 1 - scores.quality[known]
    return Detection(
        num_examples=len(wrong),
        num_wrong=int(wrong.sum()),
        label_accuracy={"given": _percent(~wrong), "corrected": _percent(corrected == clean)},
        suspect=_found(wrong, decisions[known] != "keep"),
        changed=_found(wrong, corrected != given),
        auroc=float(roc_auc_score(wrong, suspicion)) if both else None,
        auprc=float(average_precision_score(wrong, suspicion)) if both else None,
    )


def _found(wrong: NDArray[np.bool_], flagged: NDArray[np.bool_]) -> dict[str, float]:
    # Nothing flagged is no precision, nothing wrong is no recall: 0 rather than an error.
    values = precision_recall_fscore_support(wrong, flagged, average="binary", zero_division=0)
    return {name: 100 * float(value) for name, value in zip(("precision", "recall", "f1"), values[:3], strict=True)}


def _percent(hits: NDArray[np.bool_]) -> float:
    return 100 * float(hits.mean())
