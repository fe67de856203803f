"""Columns that a network learns nothing from: numbers of which some cells are none, names of rows, empty ones.

Numbers of the rows, a data frame's own or others, and marks of the set that rows are in are none of the data either.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pencil.data.tables.columns import column, is_text
from pencil.data.tables.label_cells import NUMBER
from pencil.data.tables.words import are_sentences
from pencil.errors import PencilError
from pencil.spelling import columns_named

_DRESS = r"[,_'’%\s\p{Zs}\p{Sc}]"
"""What people write into numbers: separators of thousands, per cent, currencies."""
_FEW = 20
_INDEX = re.compile("__index_level_[0-9]+__")
"""What pandas calls an index that has no name, in Parquet and in Hugging Face's datasets."""
_NAMELESS = re.compile(r"Unnamed: [0-9]+(\.[0-9]+)*")
"""What pandas calls columns without a name when it reads CSV: often an index that was once written."""
_NUMBERS_OF_ROWS = ("id", "idx", "index", "rowname", "rownames", "rownumber", "rowid", "rownum")
"""What columns are called that number the rows: in sorted data such numbers tell the class."""
_MARKS_OF_A_SET = ("heldout", "holdout", "isheldout", "isholdout", "istest", "istrain", "isval", "isvalidation")
"""What columns are called that say whether a row is in a set."""
_JOINTS = re.compile(r"[\s_.-]+")
"""What may stand between the words of a column's name."""
_MOST_SETS = 3
"""Training, held-out and test rows, each numbered anew."""


class Learnable(NamedTuple):
    """What of a table is learned from."""

    columns: list[str]
    words: list[str]
    """Columns of texts that are learned from by the words in them."""
    line: str
    """On columns that are left out, or that are not read as others are; nothing where there are none."""


def learnable(
    table: Any, names: Sequence[str], where: object, *, chosen: bool, words: Collection[str] = ()
) -> Learnable:
    """Choose the columns to learn from.

    What a user has chosen is kept; where it comes from is for messages. Of `words`, columns of texts, the words are
    learned from; so are those of texts that nothing else stands beside.
    """
    names = [name for name in names if name not in words]
    nameless = not chosen and "" in names
    marks = [] if chosen else [name for name in names if _marks_a_set(table, name)]
    names = [name for name in names if name not in marks and (name or chosen)]
    _refuse_broken_numbers(table, names, where)
    counted = [] if chosen else [name for name in names if _is_index(table, name)]
    names = [name for name in names if name not in counted]
    numbered = [] if chosen else [name for name in names if _numbers_rows(table, name)]
    names = [name for name in names if name not in numbered]
    empty = [] if chosen else [name for name in names if _is_empty(column(table, name))]
    names_of_rows = [] if chosen else that_name_rows(table, names)
    dropped = {*empty, *names_of_rows}
    kept = [name for name in names if name not in dropped]
    spoken = [name for name in names_of_rows if are_sentences(column(table, name))]
    alone = spoken if not (kept or words) else []
    if not (kept or words or alone):
        raise _nothing_to_learn(names_of_rows, empty, _left_out(nameless, (), (), counted, numbered, marks), where)
    names_of_rows = [name for name in names_of_rows if name not in alone]
    places = [] if chosen else [name for name in kept if _tells_place(column(table, name))]
    if len(places) < len(kept):
        kept = [name for name in kept if name not in places]
        numbered += places
    told = [f"of {_listed(alone)} the words are learned from."] if alone else []
    if line := _left_out(nameless, names_of_rows, empty, counted, numbered, marks):
        told.append(line)
    if others := [name for name in spoken if name not in alone]:
        told.append(f"To learn from the words of {_listed(others)}: {columns_named('words', others)}.")
    return Learnable(kept, [*words, *alone], " ".join(told))


def _nothing_to_learn(names_of_rows: Sequence[str], empty: Sequence[str], left_out: str, where: object) -> PencilError:
    if names_of_rows:
        return PencilError(
            f'the column "{names_of_rows[0]}" of {where} has another text in nearly every row, and there is nothing'
            " else to learn from; give numbers that say what each is about, such as a model of sentences makes."
        )
    if empty:
        return PencilError(
            f'the column "{empty[0]}" of {where} is empty, and there is nothing else to learn from; fill it in, or give'
            " other columns."
        )
    if left_out:
        return PencilError(f"there is nothing to learn from: {left_out} Give other columns.")
    return PencilError("there are no columns of features; name an image column or features.")


def beside(table: Any, used: Collection[str]) -> dict[str, NDArray[np.object_]]:
    """Return the texts of columns that are of no other use: people may want to read them."""
    found = {name: column(table, name) for name in table.column_names if name not in used}
    texts = {name: values for name, values in found.items() if is_text(values.type) and not _is_empty(values)}
    return {name: np.array(values.fill_null("").to_pylist(), dtype=np.object_) for name, values in texts.items()}


def _refuse_broken_numbers(table: Any, names: Sequence[str], where: object) -> None:
    """Refuse a column of texts where at least half of the different ones are numbers, but not all as they stand."""
    for name in names:
        values = column(table, name)
        if not is_text(values.type):
            continue
        stray = _first_that_is_none(values)
        if stray is not None:
            raise PencilError(
                f'the column "{name}" of {where} holds numbers, but "{values[stray].as_py()}" in row {stray + 1} is'
                f" none; mend it, or leave the column out ({columns_named('ignore', [name])})."
            )


def _first_that_is_none(values: Any) -> int | None:
    texts = pc.unique(values.drop_null())
    texts = texts.filter(pc.not_equal(texts, ""))
    plain = pc.match_substring_regex(texts, NUMBER)
    undressed = pc.match_substring_regex(pc.replace_substring_regex(texts, _DRESS, ""), NUMBER)
    strays = texts.filter(pc.invert(plain))
    if not len(strays) or 2 * _how_many(undressed) < len(texts):
        return None
    return int(pc.index(pc.is_in(values, value_set=strays), True).as_py())


def that_name_rows(table: Any, names: Sequence[str]) -> list[str]:
    """Return the columns of texts, more than a few, where more than half of the rows have a text of their own."""
    return [name for name in names if _names_rows(column(table, name))]


def _names_rows(values: Any) -> bool:
    if not is_text(values.type):
        return False
    counts = pc.value_counts(values).field("counts")
    return len(counts) > _FEW and 2 * _how_many(pc.equal(counts, 1)) > len(values)


def _left_out(
    nameless: bool,
    names_of_rows: Sequence[str],
    empty: Sequence[str],
    counted: Sequence[str],
    numbered: Sequence[str],
    marks: Sequence[str],
) -> str:
    """Say which columns are left out of the features, and why."""
    told = ["a column without a name is left out; name it to use it"] if nameless else []
    if counted:
        verb = "is" if len(counted) == 1 else "are"
        told.append(f"{_listed(counted)} {verb} the index of a data frame and {verb} left out")
    if numbered:
        verbs = ("numbers", "is") if len(numbered) == 1 else ("number", "are")
        told.append(f"{_listed(numbered)} {verbs[0]} the rows and {verbs[1]} left out")
    if marks:
        verbs = ("marks", "is") if len(marks) == 1 else ("mark", "are")
        told.append(
            f"{_listed(marks)} {verbs[0]} rows of a set and {verbs[1]} left out; to keep rows apart, name a column that"
            " says train, val or test by data.options.split"
        )
    if empty:
        one = len(empty) == 1
        told.append(f"{_listed(empty)} {'is empty and is' if one else 'are empty and are'} left out")
    if names_of_rows:
        one = len(names_of_rows) == 1
        has, them = ("has", "it") if one else ("have", "them")
        told.append(
            f"{_listed(names_of_rows)} {has} another text in nearly every row and {'is' if one else 'are'} left out;"
            f" name {them} by data.options.features to use {them}"
        )
    return f"{'; '.join(told)}." if told else ""


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f"the column{'s' if len(names) > 1 else ''} {listed}"


def _is_index(table: Any, name: str) -> bool:
    """Say whether a column is what a data frame numbered its rows by."""
    return bool(_INDEX.fullmatch(name)) or (bool(_NAMELESS.fullmatch(name)) and _counts_rows(column(table, name), 1))


def _numbers_rows(table: Any, name: str) -> bool:
    return _JOINTS.sub("", name).lower() in _NUMBERS_OF_ROWS and _counts_rows(column(table, name), _MOST_SETS)


def _marks_a_set(table: Any, name: str) -> bool:
    if _JOINTS.sub("", name).lower() not in _MARKS_OF_A_SET:
        return False
    values = column(table, name)
    return pa.types.is_boolean(values.type) or (_is_whole(values) and set(pc.unique(values).to_pylist()) <= {0, 1})


def _tells_place(values: Any) -> bool:
    """Say whether a column holds whole numbers, more than a few, each by one more than that of the row before."""
    return _is_whole(values) and len(values) > _FEW and bool((np.diff(values.to_numpy()) == 1).all())


def _counts_rows(values: Any, most: int) -> bool:
    """Say whether a column holds whole numbers, none of them more often than that."""
    return _is_whole(values) and bool(pc.max(pc.value_counts(values).field("counts")).as_py() <= most)


def _is_whole(values: Any) -> bool:
    return pa.types.is_integer(values.type) and not values.null_count


def _is_empty(values: Any) -> bool:
    """Say whether no cell of a column holds anything."""
    missing = pc.is_null(values, nan_is_null=True)
    if is_text(values.type):
        missing = pc.equal(values.fill_null(""), "")
    return _how_many(missing) == len(values)


def _how_many(truths: Any) -> int:
    """Count what is true; in Arrow 15 an array's own count ends the process where nothing is missing."""
    return int(pc.sum(truths).as_py() or 0)
