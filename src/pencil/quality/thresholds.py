"""Moves the two thresholds of a finished run, and counts what each choice touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pencil.quality.decide import Thresholds, count, decide_known
from pencil.quality.score import Scores

STEPS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def decide_again(table: pa.Table, thresholds: Thresholds, *, careful: bool = False) -> NDArray[np.str_]:
    """Return each row's decision under other thresholds than the run's, which may have been told to be careful."""
    known = np.asarray(table["trusted"]).astype(np.bool_)
    apart = np.asarray(table["split"]) == "held-out"
    return decide_known(scores_of(table), _whole(table, "given"), known, apart, thresholds, careful=careful)


def touched_by(
    table: pa.Table, thresholds: Thresholds, steps: Sequence[float] = STEPS, *, careful: bool = False
) -> dict[str, dict[float, dict[str, int]]]:
    """Count keep, relabel and review for values of either threshold, the other one as it is."""
    names = ("keep_quality", "relabel_confidence")
    return {
        name: {
            value: count(decide_again(table, replace(thresholds, **{name: value}), careful=careful))
            for value in sorted({*steps, getattr(thresholds, name)})
        }
        for name in names
    }


def scores_of(table: pa.Table) -> Scores:
    """Return the scores that labels.parquet holds."""
    floats = {name: np.asarray(table[name].fill_null(np.nan)) for name in ("confidence", "entropy", "quality")}
    return Scores(corrected=_whole(table, "corrected"), **floats)


def _whole(table: pa.Table, name: str) -> NDArray[np.int64]:
    return np.asarray(table[name].fill_null(-1)).astype(np.int64)
