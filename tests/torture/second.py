"""Two commands on one folder at once: the second is refused and changes nothing."""

import time
from collections import Counter
from pathlib import Path

from . import process
from .runs import Kind, check_same, digits, unbroken, wait_for_epoch

KIND = Kind("pencil", "dense", "10,15,5")


def run(seed: int, place: Path) -> Counter[str]:
    """Come to a running run's folder with other commands."""
    data = digits(place / "digits.npz")
    whole, out = unbroken(KIND, data, place), place / "run"
    first = process.start(*KIND.arguments(data, out), log=place / "first.log")
    wait_for_epoch(out, 1, first)
    refused = 0
    others = (["train", "--resume", "--out", out], KIND.arguments(data, out), ["review", out, "--no-open"])
    for turn in range(6):
        if not first.running():
            break
        other = process.finish(*others[turn % 3], log=place / f"second-{turn}.log")
        line = other.line()
        assert other.status == 2 and ("in use by process" in line or "already holds a run" in line), line
        refused += 1
        time.sleep(0.01)
    assert refused >= 3, "the first command was over too soon"
    assert first.end() == 0, first.text()
    check_same(out, whole)
    return Counter(refused=refused)
