"""One review: the run's rows, its pictures and the decisions, kept together."""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from pencil.config import from_document, read_toml
from pencil.data.located import Located, from_home, read_dataset
from pencil.errors import PencilError
from pencil.quality.decide import count
from pencil.results.decisions import Action, Decisions, Standing
from pencil.results.distributions import read_distribution_rows
from pencil.results.documents import damaged, plain, read_classes
from pencil.results.folder import RunFolder
from pencil.results.labels_table import read_labels
from pencil.review.index import OPEN, SKIPPED, Filter, Index
from pencil.review.pictures import Pictures

TOP = 5
"""Classes of the learned distribution that are shown."""
SHORT = 8
"""Values of a row that fit on a card."""
_COLUMNS = ("index", "id", "given", "corrected", "confidence", "quality", "network", "changed_at", "num_changes",
            "decision", "split")  # fmt: skip


class Desk:
    """Answers everything the page asks; safe to use from several threads."""

    def __init__(self, folder: RunFolder, classes: tuple[str, ...], pictures: Pictures, kind: str) -> None:
        self.folder, self.classes, self.pictures, self.kind = folder, classes, pictures, kind
        self.index = Index(read_labels(folder.labels), len(classes), folder.labels)
        self.run = _mark(folder)
        self._pairs, self._counts = self.index.pairs(8), count(self.index.decision)
        self._guard = threading.Lock()
        self._store = Decisions(folder.decisions)
        self._standing = Standing()
        self._rank_of = {name: rank for rank, name in enumerate(self.index.table["id"].to_pylist())}
        self.catch_up()

    def close(self) -> None:
        """Give the decisions back; each is on disk since it was confirmed."""
        self._store.close()

    def summary(self) -> dict[str, Any]:
        """Return what the page needs once."""
        return {
            "run": self.folder.path.resolve().name,
            "classes": self.classes,
            "kind": self.kind,
            "pairs": self._pairs,
            "decisions": self._counts,
            **self.progress(),
        }

    def progress(self) -> dict[str, Any]:
        """Count what is done."""
        state, suspects = self.index.state, self.index.suspects
        return {
            "sequence": self._standing.sequence,
            "suspects": int(suspects.sum()),
            "suspects_decided": int((suspects & (state >= 0)).sum()),
            "decided": int((state >= 0).sum()),
            "skipped": int((state == SKIPPED).sum()),
        }

    def page(self, wanted: Filter, *, start: int, limit: int, backwards: bool) -> dict[str, Any]:
        """Return a page of rows."""
        ranks, total, begin = self.index.page(wanted, start=start, limit=limit, backwards=backwards)
        return {"items": [self.item(int(rank)) for rank in ranks], "total": total, "begin": begin, **self.progress()}

    def item(self, rank: int) -> dict[str, Any]:
        """Describe one row, short enough for a card."""
        found = {name: self.index.table[name][rank].as_py() for name in _COLUMNS}
        row = int(self.index.rows[rank])
        if self.kind != "images":
            found["values"] = self.pictures.values(row, SHORT)
        described: dict[str, Any] = plain(found | {"row": row, "rank": rank, "state": self._state(rank)})
        return described

    def detail(self, row: int) -> dict[str, Any]:
        """Describe one row in full."""
        found = self.item(int(self.index.ranks[row]))
        if self.kind != "images":
            found["values"] = self.pictures.values(row)
        # Shown where it is there and sound; no decision depends on it.
        with suppress(PencilError, IndexError, ValueError, MemoryError):
            found["top"] = self._top(row)
        return found

    def decide(self, row: int, label: int | None, *, reviewer: str, key: str) -> dict[str, Any]:
        """Record a class, or a skip; on disk when this returns."""
        name = self.index.table["id"][int(self.index.ranks[row])].as_py()
        return self._recorded(self._store.decide(name, label, reviewer=reviewer, key=key))

    def undo(self, *, reviewer: str, key: str) -> dict[str, Any]:
        """Take the reviewer's last action back; on disk when this returns."""
        action = self._store.undo(reviewer=reviewer, key=key)
        return {"row": None, **self.progress()} if action is None else self._recorded(action)

    def changes(self, since: int) -> dict[str, Any]:
        """Return the rows that changed after a sequence number, in this process or another."""
        actions = self._store.since(since)
        self.catch_up()
        ranks = [self._rank_of[name] for name in dict.fromkeys(action.id for action in actions)]
        changed = [{"row": int(self.index.rows[rank]), "state": self._state(rank)} for rank in ranks]
        # Not as far as is known by now: what came in meanwhile is not among these, and is to be asked for again.
        sequence = actions[-1].sequence if actions else min(since, self._standing.sequence)
        return {"changes": changed, **self.progress(), "sequence": sequence}

    def catch_up(self) -> None:
        """Take in the actions that this process has not seen."""
        with self._guard:
            actions = self._store.since(self._standing.sequence)
            self._standing.apply(actions)
            for name in {action.id for action in actions}:
                self._settle(name)

    def _recorded(self, action: Action) -> dict[str, Any]:
        self.catch_up()
        rank = self._rank_of[action.id]
        row = int(self.index.rows[rank])
        return {"row": row, "state": self._state(rank), "recorded": action.sequence, **self.progress()}

    def _settle(self, name: str) -> None:
        action = self._standing.of(name)
        label = None if action is None else action.label
        if name not in self._rank_of or (label is not None and label >= len(self.classes)):
            raise damaged(self.folder.decisions, "it names an example or a class that the run does not have")
        self.index.state[self._rank_of[name]] = OPEN if action is None else SKIPPED if label is None else label

    def _state(self, rank: int) -> int:
        return int(self.index.state[rank])

    def _top(self, row: int) -> list[tuple[int, float]]:
        shares = read_distribution_rows(self.folder.label_distributions, row, row + 1)[0]
        if shares.shape != (len(self.classes),):
            raise damaged(self.folder.label_distributions, "it has another number of classes")
        return [(int(label), round(float(shares[label]), 4)) for label in np.argsort(-shares, kind="stable")[:TOP]]


def _mark(folder: RunFolder) -> str:
    """Return what tells a run from others, and from another one in its place."""
    with folder.labels.open("rb") as stream:
        content = hashlib.file_digest(stream, "sha256")
    content.update(str(folder.path.resolve()).encode())
    return content.hexdigest()


def open_desk(path: str | Path, *, source: str = "", root: str = "") -> Desk:
    """Open a finished run for review, with its data as it is now."""
    folder = RunFolder.open(path)
    settings = from_document(read_toml(folder.config))
    classes = read_classes(folder.classes)
    ids = read_labels(folder.labels)["id"].to_pylist()
    dataset = read_dataset(from_home(settings.data, folder.homes()), source=source, root=root)
    pictures = Pictures(Located(dataset, ids, whole=True), dataset.facts.get("features", ()))
    return Desk(folder, classes, pictures, dataset.preparation.kind)
