"""The labels of a CSV file as they are spelled: 007 is a name, 7 a number where all others are numbers too."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pencil.errors import PencilError

NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"
_PADDED = "^-?0[0-9]"
_LARGEST_EXACT = 2.0**53
"""Up to here floats tell whole numbers apart."""
_TRUTH = "^(?i:true|false)$"
_UNCLEAR = "^(?i:#?n/?a|null|nan)$"
"""Words for what is missing; a class may be called so too."""


def as_labels(cells: Any) -> Any:
    """Return texts as whole numbers where all are, else as they stand; fractions become numbers, to be refused."""
    _refuse_unclear(cells)
    missing = pc.equal(cells, "")
    present = cells.filter(pc.invert(missing))
    if not (_all(present, NUMBER) or _all(present, _TRUTH)):
        return cells
    cells = pc.if_else(missing, pa.scalar(None, cells.type), cells)
    return _by_value(cells) if _all(present, NUMBER) else cells


def _by_value(cells: Any) -> Any:
    """Return spelled numbers as numbers, but as they stand where one is too large or has zeros before it."""
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), r"^\+", "")
    try:
        values = pc.cast(bare, pa.float64())
        if pc.any(pc.not_equal(values, pc.trunc(values))).as_py():
            return values
        if pc.any(pc.match_substring_regex(bare, _PADDED)).as_py():
            return cells
        if pc.all(pc.less(pc.abs(values), _LARGEST_EXACT), min_count=0).as_py():
            return pc.cast(values, pa.int64())
        return pc.cast(pc.replace_substring_regex(bare, r"\.0*$", ""), pa.int64())
    except pa.ArrowInvalid:
        return cells


def _refuse_unclear(cells: Any) -> None:
    known = pc.is_in(cells, value_set=pa.array(pa.csv.ConvertOptions().null_values, cells.type))
    words = pc.match_substring_regex(pc.utf8_trim_whitespace(cells), _UNCLEAR)
    unclear = pc.and_(pc.or_(known, words), pc.not_equal(cells, ""))
    row = pc.index(unclear, True).as_py()
    if row >= 0:
        raise PencilError(
            f'"{cells[row].as_py()}" in row {row + 1} may be a missing label or a class;'
            " leave such cells empty, or rename the class."
        )


def _all(cells: Any, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py())
