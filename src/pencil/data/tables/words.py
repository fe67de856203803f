"""Columns of texts as the words in them: each frequent word is a feature, 1 in the rows that have it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data.tables.columns import as_texts, column, is_text
from pencil.errors import PencilError

MARK = "~"
"""Between a column's name and a word in the name of a feature."""
MOST_WORDS = 2_000
"""The most frequent ones of a column."""
MOST_CELLS = 200_000_000
"""Of all rows together: of very many texts fewer words are known, since all of them stand in memory."""
LEAST_ROWS = 3
"""That a word must be in, for anything to be learned from it."""
_SENTENCE = 3
"""Words, numbers not among them, that a text has where it is more than a name."""
_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Letters of scripts without spaces between words: each counts as one."""
_WORD = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")


def words_in(text: str) -> set[str]:
    """Return the words of a text, in small letters."""
    return set(_WORD.findall(text.lower()))


def are_sentences(values: Any) -> bool:
    """Say whether most texts of a column are more than a name, a number of something or a date."""
    lengths = [sum(not word.isdigit() for word in words_in(text)) for text in as_texts(values)]
    return bool(lengths) and float(np.median(lengths)) >= _SENTENCE


def word_features(table: Any, name: str) -> tuple[NDArray[np.float32], list[str]]:
    """Return the frequent words of a column as features, the most frequent first, and what they are called."""
    values = column(table, name)
    if not is_text(values.type):
        raise PencilError(f'the column "{name}" is {values.type}, not texts; name one of texts by data.options.words.')
    found = [words_in(text) for text in as_texts(values)]
    counts = Counter(chain.from_iterable(found))
    frequent = sorted((word for word, rows in counts.items() if rows >= LEAST_ROWS), key=lambda w: (-counts[w], w))
    if not frequent:
        raise PencilError(f'no word of the column "{name}" is in {LEAST_ROWS} rows or more; give more or other texts.')
    known = frequent[: max(min(MOST_WORDS, MOST_CELLS // len(found)), 1)]
    return _marked(found, known), [f"{name}{MARK}{word}" for word in known]


def has_words(texts: Sequence[str], words: Sequence[str]) -> NDArray[np.float32]:
    """Return which of these words each text has, 1 or 0."""
    return _marked([words_in(text) for text in texts], words)


def _marked(found: Sequence[set[str]], words: Sequence[str]) -> NDArray[np.float32]:
    places = {word: place for place, word in enumerate(words)}
    marked = np.zeros((len(found), len(words)), dtype=np.float32)
    for row, own in enumerate(found):
        marked[row, [places[word] for word in own if word in places]] = 1
    return marked
