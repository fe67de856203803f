"""Decisions are a history that survives kills, torn writes and strangers' files."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pencil.errors import PencilError
from pencil.results.decisions import Action, Decisions, Standing, read_standing, reviewed
from pencil.results.decisions_file import APPLICATION, SCHEMA
from pencil.results.documents import write_classes
from pencil.results.folder import RunFolder

KILLED = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = PERSIST").fetchone()
connection.execute("PRAGMA synchronous = FULL")
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
for number in range(5000):
    row = (f"late-{number}", "label", 0, "other", f"late-{number}", "now", "")
    columns = "id, kind, label, reviewer, key, at, checksum"
    connection.execute(f"INSERT INTO actions ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.sqlite"


def fill(path: Path, count: int = 40) -> None:
    with Decisions(path) as store:
        for number in range(count):
            store.decide(f"e{number}", number % 3, reviewer="me", key=f"k{number}")


def test_an_undo_is_an_action_and_brings_back_what_was_before(path: Path) -> None:
    with Decisions(path) as store:
        store.decide("a", 1, reviewer="me", key="1")
        store.decide("a", 2, reviewer="me", key="2")
        assert read_standing(path).labels() == {"a": 2}
        assert store.undo(reviewer="me", key="3") == Action(3, "a", "undo", None, 2)
        assert read_standing(path).labels() == {"a": 1}
        assert store.undo(reviewer="me", key="4") == Action(4, "a", "undo", None, 1)
        assert store.undo(reviewer="me", key="5") is None
        assert read_standing(path).labels() == {} and [a.sequence for a in store.since(0)] == [1, 2, 3, 4]


def test_an_undo_takes_back_ones_own(path: Path) -> None:
    with Decisions(path) as store:
        store.decide("a", 1, reviewer="me", key="1")
        store.decide("a", 2, reviewer="you", key="2")
        store.undo(reviewer="me", key="3")
    assert read_standing(path).labels() == {"a": 2}


def test_a_skip_is_no_label(path: Path) -> None:
    with Decisions(path) as store:
        store.decide("a", 1, reviewer="me", key="1")
        store.decide("a", None, reviewer="me", key="2")
    standing = read_standing(path)
    assert standing.labels() == {} and standing.of("a") == Action(2, "a", "skip")


def test_a_repeated_request_is_recorded_once(path: Path) -> None:
    with Decisions(path) as store:
        first = store.decide("a", 1, reviewer="me", key="1")
        assert store.decide("a", 1, reviewer="me", key="1") == first
        undone = store.undo(reviewer="me", key="2")
        assert store.undo(reviewer="me", key="2") == undone and len(store.since(0)) == 2


def test_one_store_sees_what_another_wrote(path: Path) -> None:
    with Decisions(path) as one, Decisions(path) as two:
        one.decide("a", 1, reviewer="me", key="1")
        two.decide("b", 0, reviewer="you", key="2")
        assert [a.id for a in one.since(1)] == ["b"] and [a.id for a in two.since(0)] == ["a", "b"]


def test_replaying_in_parts_is_replaying_at_once() -> None:
    actions = [
        Action(1, "a", "label", 1),
        Action(2, "b", "skip"),
        Action(3, "a", "label", 2),
        Action(4, "a", "undo", None, 3),
    ]
    whole, parts = Standing(), Standing()
    whole.apply(actions)
    for action in actions:
        parts.apply([action])
    assert whole == parts and whole.sequence == 4 and whole.labels() == {"a": 1}


def test_the_file_is_synced_at_every_commit(path: Path) -> None:
    with Decisions(path) as store:
        full = 2
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (full,)
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("persist",)


def test_a_torn_write_is_rolled_back(path: Path) -> None:
    fill(path)
    before = path.read_bytes()
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    torn = bytearray(path.read_bytes())
    assert len(torn) > len(before) and bytes(torn[: len(before)]) != before, "the kill came before anything was written"
    # The power went in the middle of a page: half of one that was being written is old, half is rubbish.
    changed = next(at for at in range(0, len(before), 4096) if torn[at : at + 4096] != before[at : at + 4096])
    torn[changed + 2048 : changed + 4096] = os.urandom(2048)
    path.write_bytes(torn)
    assert len(read_standing(path).labels()) == 40
    with Decisions(path) as store:
        assert store.decide("later", 1, reviewer="me", key="later").sequence == 41


@pytest.mark.parametrize("how", ["flipped", "cut", "emptied", "all but emptied", "empty-header", "text"])
def test_a_damaged_file_is_one_clear_line(path: Path, how: str) -> None:
    fill(path, 400)
    content = bytearray(path.read_bytes())
    if how == "flipped":
        content[4096:8192] = bytes(byte ^ 0x5A for byte in content[4096:8192])
    elif how == "cut":
        content = content[: len(content) // 2]
    elif "emptied" in how:
        content = content[: len(how) - len("emptied")]
    elif how == "empty-header":
        content[:100] = bytes(100)
    else:
        content = bytearray(b"these are no decisions" * 100)
    path.write_bytes(content)
    for use in (Decisions, read_standing):
        with pytest.raises(PencilError, match="damaged"):
            use(path)


def foreign_schema(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE actions (sequence)")


def with_trigger(path: Path) -> None:
    fill(path)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TRIGGER sly AFTER INSERT ON actions BEGIN DELETE FROM actions; END")


def linked(path: Path) -> None:
    fill(path.with_name("elsewhere.sqlite"))
    path.symlink_to(path.with_name("elsewhere.sqlite"))


def logged(path: Path) -> None:
    fill(path)
    path.with_name("decisions.sqlite-wal").symlink_to(path.with_name("victim"))


def journal_that_names_a_file(path: Path) -> None:
    fill(path)
    victim = path.with_name("victim")
    victim.write_text("precious")
    name, magic = str(victim).encode(), bytes.fromhex("d9d505f920a163d7")
    tail = len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + magic
    path.with_name("decisions.sqlite-journal").write_bytes(magic + bytes(1016) + b"\0\0\0\1" + name + tail)


def unknown_kind(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        for statement in (*SCHEMA, f"PRAGMA application_id = {APPLICATION}", "PRAGMA user_version = 1"):
            connection.execute(statement)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("INSERT INTO actions VALUES (1, 'a', 'label', 'many', NULL, 'me', 'k', 'now', '')")


TRICKS = (foreign_schema, with_trigger, linked, logged, journal_that_names_a_file, unknown_kind)


@pytest.mark.parametrize("trick", TRICKS)
def test_a_strangers_file_is_refused(path: Path, trick: Callable[[Path], None]) -> None:
    trick(path)
    for use in (Decisions, read_standing):
        with pytest.raises(PencilError):
            use(path)
    if trick is journal_that_names_a_file:
        assert path.with_name("victim").exists()


def test_a_file_that_a_kill_left_empty_is_no_damage(path: Path) -> None:
    path.touch()
    assert read_standing(path).labels() == {}
    fill(path)
    assert len(read_standing(path).labels()) == 40


def test_a_newer_file_asks_for_an_upgrade(path: Path) -> None:
    fill(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(PencilError, match=r"newer pencil; upgrade with pip install \. in a newer copy"):
        Decisions(path)


def test_reviewed_gives_classes_by_id(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    write_classes(folder.classes, ["a", "b", "c"])
    assert reviewed(folder) == {} and not folder.decisions.exists()
    fill(folder.decisions, 3)
    assert reviewed(folder) == {"e0": 0, "e1": 1, "e2": 2}
    write_classes(folder.classes, ["a", "b"])
    with pytest.raises(PencilError, match="class"):
        reviewed(folder)


def test_another_runs_decisions_are_adopted_once(tmp_path: Path) -> None:
    with Decisions(tmp_path / "decisions.sqlite") as store:
        for _ in range(2):
            store.adopt({"a": 1, "b": 0}, reviewer="parent run")
        assert [(action.id, action.label) for action in store.since(0)] == [("a", 1), ("b", 0)]
        store.decide("a", 2, reviewer="me", key="mine")
    assert read_standing(tmp_path / "decisions.sqlite").labels() == {"a": 2, "b": 0}


def test_a_single_flipped_bit_in_a_decision_is_noticed(path: Path) -> None:
    fill(path, 3)
    content = path.read_bytes()
    assert content.count(b"e1labelk") == 0
    place = content.rindex(b"e1label")
    path.write_bytes(content[:place] + b"e3" + content[place + 2 :])
    with pytest.raises(PencilError, match=r"decisions.sqlite is damaged .action 2 is not what was written"):
        read_standing(path)
