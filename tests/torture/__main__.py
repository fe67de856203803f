"""What really happens to a training tool: kills, full disks, damage, bad and hostile files, long runs.

    make torture            all of it, in at most twenty minutes on two cores; records it under reference/torture
    make torture SEED=7     with other moments, places and files

`python -m tests.torture kills inputs` runs some chapters alone, and records nothing.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

from . import process

CHAPTERS = {
    "kills": "runs killed by SIGKILL, resumed, and the same to the bit",
    "pair": "one of two processes killed, the pair resumed",
    "full_disk": "disks filled while a run writes checkpoints",
    "damage": "files of run folders flipped and cut",
    "second": "second commands on a folder in use",
    "stop": "requests to stop (SIGTERM)",
    "decisions": "reviews killed, files torn",
    "hostile": "exploits, bombs and false claims",
    "inputs": "mutated inputs, over every reader",
    "long_run": "a thousand epochs: memory and handles",
}


def main() -> int:
    """Run all chapters, or those that are named."""
    asked = argparse.ArgumentParser(prog="torture", description=main.__doc__)
    asked.add_argument("chapters", nargs="*", metavar="CHAPTER", help=", ".join(CHAPTERS))
    asked.add_argument("--seed", type=int, default=0)
    options = asked.parse_args()
    if unknown := set(options.chapters) - set(CHAPTERS):
        asked.error(f"there is no chapter {', '.join(sorted(unknown))}")
    process.load()
    counted: dict[str, dict[str, int]] = {}
    took: dict[str, float] = {}
    for name in options.chapters or CHAPTERS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"pencil-torture-{name}-", ignore_cleanup_errors=True) as place:
            try:
                counts: Counter[str] = import_module(f".{name}", __package__).run(options.seed, Path(place))
            except AssertionError as failed:
                print(f"torture: {name} failed with seed {options.seed}: {failed}", file=sys.stderr)
                raise
        took[name], counted[name] = round(time.monotonic() - began, 1), dict(counts)
        print(f"{name:<10}{took[name]:>8.1f} s  {_words(counts)}  ({CHAPTERS[name]})", flush=True)
    if not options.chapters:
        from .record import summary, write

        record = write(options.seed, counted, took)
        print(summary(record))
    return 0


def _words(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items())


if __name__ == "__main__":
    sys.exit(main())
