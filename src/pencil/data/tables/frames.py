"""Data frames: tables in memory, of pandas, polars, Arrow or whatever speaks Arrow's interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pencil.errors import PencilError


@dataclass(frozen=True, eq=False)
class Frame:
    """A table that stands where the path of a file of one does."""

    table: Any
    stem = "frame"

    @property
    def parent(self) -> Path:
        """The folder that paths of images start from."""
        return Path()

    def __str__(self) -> str:
        return "the data frame"

    def select(self, names: Collection[str]) -> Any:
        """Return the table with these columns alone."""
        return self.table.select(list(names))


def is_frame(source: Any) -> bool:
    """Say whether something is a table of named columns, without importing what made it."""
    # Columns alone, such as pandas' series, speak Arrow's interface too.
    return _is_pandas(source) or (hasattr(source, "__arrow_c_stream__") and hasattr(source, "columns"))


def as_frame(source: Any) -> Frame:
    """Read a data frame's columns; what pandas calls its index is none of them."""
    try:
        if _is_pandas(source):
            _refuse_equal_names([str(name) for name in source.columns])
            return Frame(pa.Table.from_pandas(_spelled(source), preserve_index=False))
        return Frame(source.to_arrow() if hasattr(source, "to_arrow") else pa.table(source))
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = " ".join(", ".join(map(str, error.args)).split())
        raise PencilError(f"the data frame cannot be read ({reason}); give each column values of one kind.") from error


def _spelled(frame: Any) -> Any:
    """Return a frame of pandas with its intervals and periods as texts: Arrow knows their ends and numbers alone."""
    changed = frame.copy(deep=False)
    for name, kind in frame.dtypes.items():
        own = kind.categories.dtype if hasattr(kind, "categories") else kind
        if not str(own).startswith(("interval", "period")):
            continue
        if own is kind:
            changed[name] = frame[name].astype(object).map(str, na_action="ignore")
        else:
            changed[name] = frame[name].cat.rename_categories(str)
    return changed


def _refuse_equal_names(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise PencilError(f'the data frame has two columns called "{twice}"; rename one.')


def _is_pandas(source: Any) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")
