"""Columns of a table as the numbers that a network learns from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pencil.data.arrays import as_rows, blurred, missing
from pencil.data.dataset import DataFacts
from pencil.data.tables.columns import as_floats, as_texts, column, counts, is_text
from pencil.data.tables.trained_features import columns_of
from pencil.data.tables.vectors import is_vector, vectors
from pencil.data.tables.words import word_features
from pencil.errors import PencilError
from pencil.spelling import columns_named

_MOST_LEVELS = 1000
"""Different texts of a column, each of which is a number of its own."""


def features(table: Any, names: Sequence[str], words: Collection[str] = ()) -> tuple[NDArray[np.float32], DataFacts]:
    """Return the features as rows, and facts about them, first of all their names.

    Numbers are as they are, lists side by side, and each text is a column, but of `words` each frequent word is.
    """
    parts, titles, columns, together = [], list[str](), list[str](), list[list[int]]()
    for name in [*names, *words]:
        values, own = word_features(table, name) if name in words else _feature(table, name)
        parts.append(values)
        if values.dtype == np.bool_:
            together.append(list(range(len(titles), len(titles) + len(own))))
        titles += own
        columns += [name] * len(own)
    twice = [title for title, count in Counter(titles).items() if count > 1]
    if twice:
        raise PencilError(f'two features would be called "{twice[0]}"; rename the column "{twice[0]}" or its fellow.')
    _refuse_unclear(titles, columns, table.column_names)
    exact = np.concatenate(parts, axis=1)
    rows = as_rows(exact, titles)
    told: DataFacts = {**blurred(exact, rows, titles), **missing(rows, titles)}
    return rows, {**told, "features": titles, "columns": columns, "levels": together}


def _refuse_unclear(titles: Sequence[str], columns: Sequence[str], known: Collection[str]) -> None:
    """Refuse features that would be read from another column when the run predicts, as "a=b=c" of "a" or of "a=b"."""
    for own, (found, _) in zip(columns, columns_of(titles, known), strict=True):
        if found != own:
            raise PencilError(
                f'the features of the column "{own}" would pass for those of the column "{found}"; rename one.'
            )


def _feature(table: Any, name: str) -> tuple[NDArray[Any], list[str]]:
    """Return a column as one feature or more, and what they are called; of texts a truth value for each."""
    values = column(table, name)
    if pa.types.is_boolean(values.type):
        values = pc.cast(values, pa.int8())
    if counts(values.type):
        return as_floats(values)[:, None], [name]
    if is_vector(values.type):
        return vectors(values, name)
    if pa.types.is_null(values.type):
        raise PencilError(f'the column "{name}" is empty; leave it out of features.')
    if not is_text(values.type):
        raise PencilError(
            f'the column "{name}" is {values.type}, neither numbers nor texts; turn it into numbers, or leave it out'
            f" ({columns_named('ignore', [name])})."
        )
    # A missing text is a level of its own: that it is missing may say something.
    levels, codes = np.unique(np.array(as_texts(values), dtype=np.str_), return_inverse=True)
    if len(levels) > _MOST_LEVELS:
        raise PencilError(
            f'the column "{name}" has {len(levels)} different texts; leave it out ({columns_named("ignore", [name])}).'
        )
    return np.eye(len(levels), dtype=np.bool_)[codes], [f"{name}={level}" for level in levels]
