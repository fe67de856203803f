"""Features as the columns of a table that they were made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_columns(
    rows: NDArray[Any],
    titles: Sequence[str],
    columns: Sequence[str],
    levels: Sequence[Sequence[int]],
    texts: Mapping[str, Sequence[str]],
) -> dict[str, NDArray[Any]]:
    """Return the columns that features are of, by name: numbers, lists [N, k] and texts, one feature for each level.

    Those of `texts` come as they are, first of all, and the words in them not at all.
    """
    found = {name: np.array(text, dtype=np.object_) for name, text in texts.items()}
    places: dict[str, list[int]] = {}
    for place, name in enumerate(columns):
        places.setdefault(name, []).append(place)
    spread = {tuple(group) for group in levels}
    for name, group in places.items():
        if name in texts:
            continue
        if tuple(group) in spread:
            known = np.array([titles[place].removeprefix(f"{name}=") for place in group], dtype=np.object_)
            found[name] = known[rows[:, group].argmax(axis=1)]
        else:
            found[name] = rows[:, group[0]] if titles[group[0]] == name else rows[:, group]
    return found
