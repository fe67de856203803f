"""Features as the columns of a table that they were made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data.tables.words import MARK


def as_columns(
    rows: NDArray[Any], titles: Sequence[str], levels: Sequence[Sequence[int]], texts: Mapping[str, Sequence[str]]
) -> dict[str, NDArray[Any]]:
    """Return columns by name: numbers, lists [N, k] and texts, of which one feature is for each of its `levels`.

    Those of `texts` come as they are, first of all, and the words in them not at all.
    """
    columns = {name: np.array(text, dtype=np.object_) for name, text in texts.items()}
    spread = {place: group for group in levels for place in group}
    done = set[int]()
    for place, title in enumerate(titles):
        if place in done or title.rpartition(MARK)[0] in texts:
            continue
        if place in spread:
            group = list(spread[place])
            known = np.array([titles[one].partition("=")[2] for one in group], dtype=np.object_)
            columns[title.partition("=")[0]] = known[rows[:, group].argmax(axis=1)]
        elif len(group := _list_from(titles, place)) > 1:
            columns[title.removesuffix("[0]")] = rows[:, group]
        else:
            group = [place]
            columns[title] = rows[:, place]
        done.update(group)
    return columns


def _list_from(titles: Sequence[str], place: int) -> list[int]:
    """Return the places of name[0], name[1] and so on that stand one after another from here."""
    name = titles[place].removesuffix("[0]")
    group = list[int]()
    while place + len(group) < len(titles) and titles[place + len(group)] == f"{name}[{len(group)}]":
        group.append(place + len(group))
    return group
