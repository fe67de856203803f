"""Texts of a table that a run never saw in training: its features say nothing of them, and a note says so."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from pencil.data import Dataset, Examples
from pencil.data.dataset import Selection

_MOST_NAMED = 3


def notes_on_texts(dataset: Dataset, examples: Examples, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return a line for each column with texts that are none of the run's features, those of most rows first."""
    unseen = dataset.facts.get("unseen")
    if unseen is None:
        found = _by_features(examples, list(dataset.facts.get("features", ())), wanted)
    else:
        chosen = examples.inputs.index.tolist() if isinstance(examples.inputs, Selection) else range(len(examples))
        found = {name: [texts[row] for row in chosen if row in texts] for name, texts in unseen.items()}
    return tuple(_note(name, texts) for name, texts in found.items() if texts)


def _by_features(examples: Examples, titles: Sequence[str], wanted: Sequence[str]) -> dict[str, list[str]]:
    """Return the texts of data that was read before it was known which run it is for."""
    known, columns = set(wanted), {title.partition("=")[0] for title in wanted if "=" in title}
    strange = [place for place, title in enumerate(titles) if title not in known and title.partition("=")[0] in columns]
    if not strange:
        return {}
    rows = np.asarray(examples.inputs.read(np.arange(len(examples))))
    found: dict[str, list[str]] = {}
    for place in strange:
        name, _, text = titles[place].partition("=")
        found.setdefault(name, []).extend([text] * int((rows[:, place] != 0).sum()))
    return found


def _note(name: str, texts: Iterable[str]) -> str:
    counts = Counter(texts)
    named = [f'"{text}"' if text else "an empty cell" for text, _ in counts.most_common(_MOST_NAMED)]
    others = len(counts) - len(named)
    listed = ", ".join(named) + (f" and {others:,} more" if others else "")
    rows = counts.total()
    was, them = ("was", "it") if len(counts) == 1 else ("were", "them")
    go = "row goes" if rows == 1 else "rows go"
    return f"{name}: {listed} {was} never seen in training; {rows:,} {go} without {them}."
