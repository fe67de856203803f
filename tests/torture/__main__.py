"""What really happens to a training tool: kills, full disks, damage, bad and hostile files, long runs.

    make torture                  all of it, in at most twenty minutes on two cores; recorded under reference/torture
    make torture SEED=7           with other moments, places and files
    make torture SEEDS="1 2 3"    three times in a row; recorded where all of them pass

`python -m tests.torture kills inputs` runs some chapters alone, and records nothing.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from . import process

CHAPTERS = {
    "kills": "runs killed by SIGKILL, resumed, and the same to the bit",
    "damage": "files of run folders flipped and cut",
    "forged": "run folders forged by a stranger",
    "inputs": "mutated inputs, over every reader",
    "stop": "requests to stop (SIGTERM)",
    "pair": "one of two processes killed, the pair resumed",
    "long_run": "a thousand epochs: memory and handles",
    "full_disk": "disks filled while a run writes checkpoints",
    "hostile": "exploits, bombs and false claims",
    "second": "second commands on a folder in use",
    "decisions": "reviews killed, files torn",
}
"""The longest first: two are run at once."""
AT_ONCE = 2


def main() -> int:
    """Run all chapters, or those that are named."""
    asked = argparse.ArgumentParser(prog="torture", description=main.__doc__)
    asked.add_argument("chapters", nargs="*", metavar="CHAPTER", help=", ".join(CHAPTERS))
    asked.add_argument("--seeds", default="0", help="whole numbers; each is a run of its own, one after the other")
    options = asked.parse_args()
    if unknown := set(options.chapters) - set(CHAPTERS):
        asked.error(f"there is no chapter {', '.join(sorted(unknown))}")
    process.load()
    records = []
    for seed in map(int, options.seeds.split()):
        began, computed = time.monotonic(), _processor_seconds()
        counted, took = _run(seed, options.chapters or list(CHAPTERS))
        if not options.chapters:
            from .record import record, summary

            spent = {"seconds": time.monotonic() - began, "processor_seconds": _processor_seconds() - computed}
            records.append(record(seed, counted, took, spent))
            print(summary(records[-1]), flush=True)
    if records:
        from .record import write

        write(records)
    return 0


def _run(seed: int, chapters: list[str]) -> tuple[dict[str, dict[str, int]], dict[str, float]]:
    """Run chapters with a seed; return what each counted and how long it took."""
    counted: dict[str, dict[str, int]] = {}
    took: dict[str, float] = {}
    # Forked, so that no worker has to import torch anew.
    with ProcessPoolExecutor(AT_ONCE, get_context("fork")) as workers:
        running = {workers.submit(_chapter, name, seed): name for name in chapters}
        for ended in as_completed(running):
            name = running[ended]
            if ended.exception():
                workers.shutdown(cancel_futures=True)
            counts, took[name] = ended.result()
            counted[name] = dict(counts)
            print(f"{name:<10}{took[name]:>8.1f} s  {_words(counts)}  ({CHAPTERS[name]})", flush=True)
    order = [name for name in CHAPTERS if name in counted]
    return {name: counted[name] for name in order}, took


def _chapter(name: str, seed: int) -> tuple[Counter[str], float]:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"pencil-torture-{name}-", ignore_cleanup_errors=True) as place:
        try:
            counts: Counter[str] = import_module(f".{name}", __package__).run(seed, Path(place))
        except AssertionError as failed:
            print(f"torture: {name} failed with seed {seed}: {failed}", file=sys.stderr)
            raise
    return counts, round(time.monotonic() - began, 1)


def _processor_seconds() -> float:
    """Return what this process and those it has waited for have computed."""
    return sum(os.times()[:4])


def _words(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items())


if __name__ == "__main__":
    sys.exit(main())
