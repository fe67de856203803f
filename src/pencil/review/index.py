"""The run's rows in memory, most suspect first: filters and pages without touching the disk.

Shapes: N rows of labels.parquet. A row's rank is its place in the order of suspicion.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pencil.quality.score import most_suspect_first
from pencil.results.labels_table import check_labels, suspects

OPEN, SKIPPED = -2, -1
"""States of a row that has no class from a person; others are the class itself."""
STATUSES = ("any", "open", "decided", "skipped")
SUSPECTS = "suspects"

Mask = NDArray[np.bool_]
_REMEMBERED = 32


@dataclass(frozen=True)
class Filter:
    """Which rows are wanted."""

    decision: str = SUSPECTS
    """suspects (relabel and review, less what was known before), keep, relabel, review or any: what the run decided."""
    status: str = "any"
    """What a person did: any, open, decided or skipped."""
    given: int | None = None
    corrected: int | None = None
    low: float = 0.0
    high: float = 1.0
    """Least and greatest quality; rows without one pass where the range is whole."""
    find: str = ""
    """Part of the id."""


class Index:
    """Columns of labels.parquet by rank, and what people decided so far."""

    def __init__(self, table: pa.Table, num_classes: int, path: Path) -> None:
        check_labels(table, num_classes, path)
        number = {name: np.asarray(table[name].fill_null(-1)) for name in ("given", "corrected", "num_changes")}
        quality = np.asarray(table["quality"].fill_null(np.nan)).astype(np.float64)
        self.rows = most_suspect_first(quality, number["num_changes"])
        self.ranks = np.empty_like(self.rows)
        self.ranks[self.rows] = np.arange(len(self.rows))
        table = table.take(pa.array(self.rows)).combine_chunks()
        self.given, self.corrected = (number[name][self.rows] for name in ("given", "corrected"))
        self.quality = quality[self.rows]
        self.decision = np.asarray(table["decision"]).astype(np.str_)
        self.suspects: Mask = suspects(table)
        self.table = table
        self.state = np.full(len(self.rows), OPEN, dtype=np.int32)
        self._masks: OrderedDict[Filter, Mask] = OrderedDict()

    def __len__(self) -> int:
        return len(self.rows)

    def mask(self, wanted: Filter) -> Mask:
        """Say for each rank whether it is wanted."""
        state = self.state
        by_status = {"open": state == OPEN, "decided": state >= 0, "skipped": state == SKIPPED}.get(wanted.status)
        fixed = self._fixed(replace(wanted, status="any"))
        return fixed if by_status is None else fixed & by_status

    def page(self, wanted: Filter, *, start: int, limit: int, backwards: bool = False) -> tuple[NDArray[Any], int, int]:
        """Return ranks from `start` on (or before it), how many are wanted, and how many of those come earlier.

        Ranks are stable, so that a page goes on where the last one ended whatever was decided in between.
        """
        ranks = np.flatnonzero(self.mask(wanted))
        place = int(np.searchsorted(ranks, start))
        begin = max(place - limit, 0) if backwards else place
        chosen = ranks[begin:place] if backwards else ranks[begin : begin + limit]
        return chosen, len(ranks), begin

    def pairs(self, most: int) -> list[tuple[int, int, int]]:
        """Return the commonest pairs of given and suggested class among suspects, with their numbers."""
        chosen = self.suspects & (self.given >= 0) & (self.given != self.corrected)
        base = int(self.corrected.max(initial=0)) + 1
        pairs, counts = np.unique(
            self.given[chosen].astype(np.int64) * base + self.corrected[chosen], return_counts=True
        )
        order = np.argsort(-counts, kind="stable")[:most]
        return [(*divmod(int(pairs[at]), base), int(counts[at])) for at in order]

    def _fixed(self, wanted: Filter) -> Mask:
        """Answer the part of a filter that no decision changes; asked again for every page, so remembered."""
        known = self._masks.get(wanted)
        if known is None:
            known = self._masks[wanted] = self._compute(wanted)
            while len(self._masks) > _REMEMBERED:
                self._masks.popitem(last=False)
        return known

    def _compute(self, wanted: Filter) -> Mask:
        mask = np.ones(len(self), dtype=np.bool_)
        if wanted.decision != "any":
            mask &= self.suspects if wanted.decision == SUSPECTS else self.decision == wanted.decision
        for column, value in ((self.given, wanted.given), (self.corrected, wanted.corrected)):
            if value is not None:
                mask &= column == value
        if wanted.low > 0 or wanted.high < 1:
            mask &= (self.quality >= wanted.low) & (self.quality <= wanted.high)
        if wanted.find:
            # The same letter may be one sign or two (names of files from a Mac), and is typed as one. Arrow 15 cannot
            # put two together, so they are taken apart.
            names = pc.utf8_normalize(self.table["id"], "NFD")
            found = pc.match_substring(names, normalize("NFD", wanted.find), ignore_case=True)
            mask &= found.to_numpy(zero_copy_only=False).astype(np.bool_)
        return mask
