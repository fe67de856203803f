"""Opens decisions.sqlite: durable, and safe with a file that a stranger wrote."""

import sqlite3
from pathlib import Path

from pencil.errors import PencilError
from pencil.results.atomic import sync_folder
from pencil.results.documents import UPGRADE, damaged

FORMAT = 1
"""Version of the tables (SQLite's user_version)."""
APPLICATION = 0x70656E63
"""Marks the file as ours (SQLite's application_id)."""

SCHEMA = (
    """CREATE TABLE actions (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL CHECK (typeof(id) = 'text'),
        kind TEXT NOT NULL CHECK (kind IN ('label', 'skip', 'undo')),
        label INTEGER
            CHECK (CASE kind WHEN 'label' THEN typeof(label) = 'integer' AND label >= 0 ELSE label IS NULL END),
        undoes INTEGER UNIQUE REFERENCES actions (sequence)
            CHECK (CASE kind WHEN 'undo' THEN typeof(undoes) = 'integer' ELSE undoes IS NULL END),
        reviewer TEXT NOT NULL,
        key TEXT NOT NULL UNIQUE,
        at TEXT NOT NULL,
        checksum TEXT NOT NULL
    )""",
    "CREATE INDEX by_reviewer ON actions (reviewer, sequence)",
)
_OWN_NAMES = {"actions", "by_reviewer", "sqlite_sequence", "sqlite_autoindex_actions_1", "sqlite_autoindex_actions_2"}
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_SMALLEST = 512
"""Bytes of a file; SQLite takes a shorter one for a new one."""
_PATIENCE = 10.0
"""Seconds to wait while another process writes."""


UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What a damaged file comes to; the second where the library quotes from it."""


def open_file(path: Path, *, create: bool) -> sqlite3.Connection:
    """Open the file, roll back what a killed process left half done, and check that it is whole and ours."""
    _refuse_tricks(path)
    new = not path.exists()
    mode = "rwc" if create else "rw"
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False,
        )  # fmt: skip
    except sqlite3.Error as error:
        raise refused(path, error) from error
    try:
        _configure(connection)
        _make(connection)
        _check(connection, path)
        if new:
            sync_folder(path.parent)
    except UNREADABLE as error:
        connection.close()
        raise refused(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def refused(path: Path, error: Exception) -> PencilError:
    """Return the line for a person when SQLite could not read or write the file."""
    if isinstance(error, sqlite3.OperationalError):
        return PencilError(
            f"{path} could not be read or written ({error}); check permissions and the space left, and that no other"
            " program holds it."
        )
    return damaged(path, error)


def _configure(connection: sqlite3.Connection) -> None:
    # Functions hidden in a stranger's schema must not run, and damaged cells are to be found, not followed.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA foreign_keys = ON")
    # A rollback journal, not a write-ahead log: the run folder may lie on a network disk, where a log's shared memory
    # does not work, and may be copied while a review goes on, where one file is all there is. Its header is
    # overwritten to commit, which FULL syncs; deleting it would need the folder synced as well, and both that and
    # truncating it cost a change of metadata, ten times slower on a busy disk.
    connection.execute("PRAGMA journal_mode = PERSIST").fetchone()
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA temp_store = MEMORY")


def _make(connection: sqlite3.Connection) -> None:
    """Create the tables in a file that is new, or that a kill left empty."""
    if not _is_empty(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _is_empty(connection):
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.rollback()


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not ours, is newer than we know, or is damaged."""
    found = {row[0]: row[1] for row in connection.execute("SELECT name, sql FROM sqlite_master")}
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == APPLICATION and version > FORMAT:
        raise PencilError(f"{path} was written by a newer pencil; {UPGRADE}")
    texts = tuple(found.get(name) for name in ("actions", "by_reviewer"))
    if application != APPLICATION or texts != SCHEMA or not set(found) <= _OWN_NAMES:
        raise damaged(path, "it is no file of decisions")
    if (verdict := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise damaged(path, verdict)


def _refuse_tricks(path: Path) -> None:
    """Refuse what only a made-up folder has, before SQLite acts on it."""
    journal, *logs = (path.with_name(f"{path.name}-{end}") for end in ("journal", "wal", "shm"))
    for file in (path, journal):
        if file.is_symlink():
            raise PencilError(f"{file} is a link; the decisions of a run are a plain file in its folder.")
    for file in logs:
        if file.is_symlink() or file.exists():
            raise PencilError(f"{file} is not pencil's own; close the program that has {path.name} open.")
    # The journal of a transaction that is done begins with zeros; then the file had been written, and a page at least.
    if path.is_file() and path.stat().st_size < _SMALLEST and journal.is_file() and journal.stat().st_size:
        with journal.open("rb") as stream:
            if not any(stream.read(8)):
                raise damaged(path, "it is empty")
    # A journal may name a further file, which SQLite removes after rolling back; ours never do.
    if journal.is_file() and journal.stat().st_size >= 16:
        with journal.open("rb") as stream:
            stream.seek(-8, 2)
            if stream.read(8) == _JOURNAL_MAGIC:
                raise damaged(journal, "it names another file")
