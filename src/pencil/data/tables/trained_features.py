"""A table's features as a run was trained on them: texts are read as they are spelled, numbers as numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pencil.data.arrays import as_rows, missing
from pencil.data.dataset import DataFacts
from pencil.data.tables.columns import as_texts, column
from pencil.data.tables.vectors import is_vector, vectors
from pencil.data.tables.words import MARK, has_words
from pencil.errors import PencilError

_REST = re.compile(rf"\[[0-9]+\]$|=|{MARK}")


def columns_of(titles: Sequence[str], names: Collection[str]) -> list[tuple[str, str]]:
    """Return the column of each feature and the rest of its name: nothing, "[place]" of a list, "=text" or "~word"."""
    known = set(names)
    return [_column_of(title, known) for title in titles]


def _column_of(title: str, known: Collection[str]) -> tuple[str, str]:
    ends = [rest.start() for rest in _REST.finditer(title)]
    for end in (len(title), *ends):
        if title[:end] in known:
            return title[:end], title[end:]
    name = title[: ends[0]] if ends else title
    raise PencilError(f'it has no column "{name}", which the run was trained on; add it.')


def as_trained(table: Any, titles: Sequence[str]) -> tuple[NDArray[np.float32], DataFacts]:
    """Return the features that a run has, and what is known of them."""
    rows = read_features(table, titles)
    facts: DataFacts = {"features": list(titles), "unseen": unseen_texts(table, titles)}
    return rows, facts | missing(rows, titles)


def read_features(table: Any, titles: Sequence[str]) -> NDArray[np.float32]:
    """Return the features as rows, in the run's order; a text that the run never saw is none of those it knows."""
    rows = np.zeros((table.num_rows, len(titles)))
    for name, rests in _places(table, titles).items():
        values = column(table, name)
        if "" in rests:
            rows[:, rests[""]] = _numbers(values, name)
        elif next(iter(rests)).startswith("["):
            rows[:, list(rests.values())] = _vectors(values, name, list(rests))
        elif next(iter(rests)).startswith(MARK):
            rows[:, list(rests.values())] = has_words(_texts(values, name), [rest.removeprefix(MARK) for rest in rests])
        else:
            codes = np.array([rests.get(f"={text}", -1) for text in _texts(values, name)], dtype=np.int64)
            known = np.flatnonzero(codes >= 0)
            rows[known, codes[known]] = 1
    return as_rows(rows, titles)


def unseen_texts(table: Any, titles: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return for each column of texts the rows with one that the run never saw, and that text."""
    found = {}
    for name, rests in _places(table, titles).items():
        if next(iter(rests)).startswith("="):
            texts = _texts(column(table, name), name)
            found[name] = {row: text for row, text in enumerate(texts) if f"={text}" not in rests}
    return found


def _places(table: Any, titles: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the place of each feature among them, by its column and the rest of its name."""
    places: dict[str, dict[str, int]] = {}
    for place, (name, rest) in enumerate(columns_of(titles, table.column_names)):
        places.setdefault(name, {})[rest] = place
    return places


def _texts(values: Any, name: str) -> list[str]:
    try:
        return as_texts(values)
    except pa.ArrowException as error:
        raise PencilError(
            f'the column "{name}" is {values.type}, the run was trained on texts there; give texts.'
        ) from error


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    try:
        found = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        cells = [str(cell) for cell in values.to_pylist() if cell is not None]
        wrong = next((cell for cell in cells if cell and not _is_number(cell)), cells[0])
        raise PencilError(
            f'the column "{name}" holds "{wrong}", the run was trained on numbers there; give numbers.'
        ) from error
    return np.asarray(found, dtype=np.float64)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _vectors(values: Any, name: str, places: Sequence[str]) -> NDArray[np.floating[Any]]:
    if not is_vector(values.type):
        raise PencilError(f'the column "{name}" is {values.type}, the run was trained on lists of numbers there.')
    found, titles = vectors(values, name)
    if titles != [f"{name}{place}" for place in places]:
        raise PencilError(
            f'the column "{name}" has {len(titles)} numbers a row, the run was trained on {len(places)}; give as many.'
        )
    return found
