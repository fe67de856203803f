"""Decisions that were confirmed survive SIGKILL, and a page torn in the middle of a write."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

KILLS = 20


def run(seed: int, place: Path) -> Counter[str]:
    """Kill a process that writes decisions, again and again on one file."""
    from pencil.results.decisions import read_standing

    chance, path, confirmed = random.Random(seed), place / "decisions.sqlite", 0
    for kill in range(KILLS):
        said = _write_until_killed(path, kill, chance.uniform(0.005, 0.15), place / "said")
        standing = read_standing(path).labels()
        for name, label in said.items():
            assert standing.get(name) == label, f"the confirmed decision on {name} is lost"
        confirmed += len(said)
    return Counter(kills=KILLS, confirmed=confirmed, torn=_tear(path, chance))


def _write_until_killed(path: Path, kill: int, seconds: float, said: Path) -> dict[str, int]:
    said.write_bytes(b"")
    pid = os.fork()
    if not pid:
        _write(path, kill, said)
    while not said.stat().st_size:
        time.sleep(0.001)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    whole = said.read_text().rpartition("\n")[0].splitlines()
    return {name: int(label) for name, label in (line.split() for line in whole)}


def _write(path: Path, kill: int, said: Path) -> None:
    from pencil.results.decisions import Decisions

    with Decisions(path) as store, said.open("a", buffering=1) as file:
        for number in range(100_000):
            name = f"example-{kill}-{number}"
            store.decide(name, number % 10, reviewer="me", key=name)
            file.write(f"{name} {number % 10}\n")
    os._exit(0)


def _tear(path: Path, chance: random.Random) -> int:
    """Leave the journal of an unfinished write behind, with one page half written; SQLite must roll it back."""
    import sqlite3

    from pencil.results.decisions import read_standing

    before, old = read_standing(path).labels(), path.read_bytes()
    pid = os.fork()
    if not pid:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = PERSIST").fetchone()
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE actions SET label = 9 - label, reviewer = 'somebody with a much longer name'")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    content = bytearray(path.read_bytes())
    # Only a page that was being written can be torn.
    pages = [at for at in range(0, len(old), 4096) if content[at : at + 4096] != old[at : at + 4096]]
    assert pages, "the kill came before anything was written"
    page = chance.choice(pages)
    content[page + 2048 : page + 4096] = chance.randbytes(2048)
    path.write_bytes(content)
    assert read_standing(path).labels() == before, "a torn write was not rolled back"
    return 1
