"""decisions.sqlite: what people decided in review, one row an action.

Nothing is changed or removed: an undo is an action too, so the file is a history, and what stands is its replay.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import TracebackType

from pencil.results.decisions_file import UNREADABLE, open_file, refused
from pencil.results.documents import damaged, read_classes
from pencil.results.folder import RunFolder

_COLUMNS = "sequence, id, kind, label, undoes"
_WRITTEN = "id, kind, label, undoes, reviewer, key, at"


@dataclass(frozen=True)
class Action:
    """One thing that a person did."""

    sequence: int
    """Grows by every action; a reader asks for all beyond the last one it knows."""
    id: str
    """The example."""
    kind: str
    """label, skip or undo."""
    label: int | None = None
    """The class that was chosen."""
    undoes: int | None = None
    """The action that no longer counts."""


@dataclass
class Standing:
    """What stands after the actions so far: of each example the last action that was not undone."""

    sequence: int = 0
    _live: dict[str, dict[int, Action]] = field(default_factory=dict)

    def apply(self, actions: Iterable[Action]) -> None:
        """Take further actions, in order."""
        for action in actions:
            live = self._live.setdefault(action.id, {})
            if action.kind == "undo":
                live.pop(action.undoes or 0, None)
            else:
                live[action.sequence] = action
            self.sequence = max(self.sequence, action.sequence)

    def of(self, name: str) -> Action | None:
        """Return the action that stands for an example."""
        live = self._live.get(name)
        return live[max(live)] if live else None

    def labels(self) -> dict[str, int]:
        """Return the class of every example that a person gave one."""
        standing = ((name, self.of(name)) for name in self._live)
        return {name: action.label for name, action in standing if action is not None and action.label is not None}


class Decisions:
    """The store; safe to use from several threads and beside other processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._connection = open_file(path, create=True)

    def decide(self, name: str, label: int | None, *, reviewer: str, key: str) -> Action:
        """Record a class for an example, or that it was skipped (None); on disk when this returns.

        The same key again (a request repeated after a broken connection) records nothing new.
        """
        kind = "skip" if label is None else "label"
        with self._writing() as cursor:
            return _known(cursor, key) or _insert(cursor, (name, kind, label, None, reviewer, key))

    def adopt(self, labels: Mapping[str, int], *, reviewer: str) -> None:
        """Record the classes that people chose in another run, all or none; once only, however often it is called."""
        with self._writing() as cursor:
            for name, label in labels.items():
                if not _known(cursor, key := f"{reviewer}:{name}"):
                    _insert(cursor, (name, "label", label, None, reviewer, key))

    def undo(self, *, reviewer: str, key: str) -> Action | None:
        """Take back this reviewer's last action that still counts; None where there is none."""
        with self._writing() as cursor:
            if known := _known(cursor, key):
                return known
            last = cursor.execute(
                "SELECT sequence, id FROM actions AS done WHERE reviewer = ? AND kind <> 'undo' AND NOT EXISTS"
                " (SELECT 1 FROM actions WHERE undoes = done.sequence) ORDER BY sequence DESC LIMIT 1",
                (reviewer,),
            ).fetchone()
            return None if last is None else _insert(cursor, (last[1], "undo", None, last[0], reviewer, key))

    def since(self, sequence: int) -> list[Action]:
        """Return the actions after a sequence number, other processes' too."""
        with self._guard:
            return _read(self._connection, self.path, sequence)

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()

    def __enter__(self) -> Decisions:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Cursor]:
        with self._guard:
            cursor = self._connection.cursor()
            try:
                cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                cursor.execute("COMMIT")
            except sqlite3.Error as error:
                raise refused(self.path, error) from error
            finally:
                if self._connection.in_transaction:
                    self._connection.rollback()


def read_standing(path: Path) -> Standing:
    """Read what stands; nothing does where no one has reviewed yet."""
    standing = Standing()
    if path.exists():
        connection = open_file(path, create=False)
        try:
            standing.apply(_read(connection, path, 0))
        finally:
            connection.close()
    return standing


def reviewed(folder: RunFolder) -> dict[str, int]:
    """Return the class that a person chose, by id, for every example of a run that has one."""
    labels = read_standing(folder.decisions).labels()
    if labels and not 0 <= min(labels.values()) <= max(labels.values()) < len(read_classes(folder.classes)):
        raise damaged(folder.decisions, "it names a class that the run does not have")
    return labels


def _read(connection: sqlite3.Connection, path: Path, sequence: int) -> list[Action]:
    try:
        query = f"SELECT sequence, {_WRITTEN}, checksum FROM actions WHERE sequence > ? ORDER BY sequence"
        rows = connection.execute(query, (sequence,)).fetchall()
    except UNREADABLE as error:
        raise refused(path, error) from error
    for number, *written, checksum in rows:
        if checksum != _checksum(written):
            raise damaged(path, f"action {number} is not what was written")
    return [Action(*row[:5]) for row in rows]


def _known(cursor: sqlite3.Cursor, key: str) -> Action | None:
    row = cursor.execute(f"SELECT {_COLUMNS} FROM actions WHERE key = ?", (key,)).fetchone()
    return None if row is None else Action(*row)


def _insert(cursor: sqlite3.Cursor, values: tuple[str, str, int | None, int | None, str, str]) -> Action:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    written = (*values, now)
    cursor.execute(
        f"INSERT INTO actions ({_WRITTEN}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*written, _checksum(written))
    )
    assert cursor.lastrowid is not None
    name, kind, label, undoes = values[:4]
    return Action(cursor.lastrowid, name, kind, label, undoes)


def _checksum(written: Sequence[str | int | None]) -> str:
    """Return what tells a row from one in which a bit has changed; SQLite checks its pages' structure alone."""
    return sha256(json.dumps(list(written), default=repr).encode()).hexdigest()[:16]
