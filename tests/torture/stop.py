"""SIGTERM, as clusters send it: a checkpoint within ten seconds, exit code 143, and a line that says how to go on."""

import random
import signal
import time
from collections import Counter
from pathlib import Path

from . import process
from .runs import KINDS, check_same, digits, unbroken, wait_for_epoch

WITHIN = 10.0


def run(seed: int, place: Path) -> Counter[str]:
    """Ask runs of every kind to stop, at random moments of their training."""
    chance, data, slowest = random.Random(seed), digits(place / "digits.npz"), 0.0
    for kind in KINDS:
        whole, out = unbroken(kind, data, place), place / f"{kind.name}-stopped"
        child = process.start(*kind.arguments(data, out), log=place / "stopped.log")
        wait_for_epoch(out, 1, child)
        time.sleep(chance.uniform(0, 0.3))
        began = time.monotonic()
        child.send(signal.SIGTERM)
        code = child.end()
        slowest = max(slowest, time.monotonic() - began)
        assert code == 143, f"code {code}: {child.text()[-500:]}"
        assert f"pencil train --resume --out {out}" in child.line(), child.line()
        resumed = process.finish("train", "--resume", "--out", out, log=place / "resumed.log")
        assert resumed.status == 0, resumed.text()
        check_same(out, whole)
    assert slowest < WITHIN, f"a stop took {slowest:.1f} s"
    return Counter({"stopped": len(KINDS), "slowest_ms": round(1000 * slowest)})
