"""One of two processes over gloo is killed: the other stops with a clear line, and the pair resumes to the same end."""

import random
import socket
import time
from collections import Counter
from pathlib import Path

from . import process
from .runs import Kind, check_same, digits, wait_for_epoch

KIND = Kind("pencil", "dense", "6,10,4")
NOTICED = 60.0
"""Seconds within which a process must have noticed that the other is gone."""


def run(seed: int, place: Path) -> Counter[str]:
    """Kill the leading process and the other one, in turn."""
    chance, data = random.Random(seed), digits(place / "digits.npz")
    whole = place / "whole"
    for member in _both(*KIND.arguments(data, whole), place=place, name="whole"):
        assert member.end() == 0, member.text()
    for number in range(4):
        out = place / f"run{number}"
        members = _both(*KIND.arguments(data, out), place=place, name=f"killed{number}")
        wait_for_epoch(out, 1 + chance.randrange(12), members[0])
        time.sleep(chance.random() / 10)
        victim = number % 2
        assert members[victim].kill(), "the run was over before it could be killed"
        code = members[1 - victim].end(NOTICED)
        assert code == 2, f"code {code}: {members[1 - victim].text()[-500:]}"
        assert "another process of this run has died" in members[1 - victim].line()
        for member in _both("train", "--resume", "--out", out, place=place, name=f"resumed{number}"):
            assert member.end() == 0, member.text()
        check_same(out, whole)
    return Counter(killed=4)


def _both(*arguments: object, place: Path, name: str) -> list[process.Process]:
    """Start two processes the way `torchrun` does."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    common = {
        "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": name, "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
    }  # fmt: skip
    return [
        process.start(
            *arguments,
            log=place / f"{name}-{rank}.log",
            environment={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(2)
    ]
