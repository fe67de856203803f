"""A thousand epochs: the memory and the open files of the process stay where they were."""

import json
import os
import re
import time
from collections import Counter
from pathlib import Path

from . import process
from .runs import Kind, digits

EPOCHS = 1000
ALLOWED_MIB = 16
"""Growth between the tenth part of the run and its end that is not yet a leak: caches that fill, heaps that settle."""


def run(seed: int, place: Path) -> Counter[str]:
    """Watch a long run of a small network from outside."""
    data = digits(place / "digits.npz", count=80)
    kind = Kind("pencil", "mapped", f"100,{EPOCHS - 200},100", ("--seed", str(seed)))
    arguments = [
        word.replace("checkpoint_seconds=0", "checkpoint_seconds=1") for word in kind.arguments(data, place / "run")
    ]
    child = process.start(*arguments, log=place / "log")
    began = time.monotonic()
    seen: list[tuple[int, float, int]] = []
    while child.running():
        if (found := _look(child.pid, place / "run" / "history.jsonl")) is not None:
            seen.append(found)
        time.sleep(0.2)
    took = time.monotonic() - began
    assert child.end(600) == 0, child.text()[-1000:]
    # What comes after the last epoch, the report above all, takes memory of its own.
    settled = [entry for entry in seen if EPOCHS // 10 <= entry[0] < EPOCHS]
    assert len(settled) > 10, "too few looks at the run"
    early, late = settled[: len(settled) // 4], settled[-(len(settled) // 4) :]
    growth = max(entry[1] for entry in late) - max(entry[1] for entry in early)
    files = max(entry[2] for entry in late) - max(entry[2] for entry in early)
    assert growth < ALLOWED_MIB, f"memory grew by {growth:.1f} MiB"
    assert files <= 2, f"{files} more files are open"
    left = _times_left(child.text())
    assert left and all(0 <= estimate <= 30 + 4 * took for estimate in left), f"{left} in a run of {took:.0f} s"
    size = sum(file.stat().st_size for file in (place / "run").rglob("*") if file.is_file())
    record = json.loads((place / "run" / "result.json").read_text())
    assert record["num_examples"] < 80
    return Counter(
        epochs=EPOCHS, memory_growth_kib=max(round(growth * 1024), 0), more_open_files=max(files, 0),
        folder_kib=size // 1024,
    )  # fmt: skip


def _look(pid: int, history: Path) -> tuple[int, float, int] | None:
    """Return epochs done, resident memory in MiB and open files."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        files = len(os.listdir(f"/proc/{pid}/fd"))
        epochs = history.read_bytes().count(b"\n")
    except (OSError, IndexError):
        return None
    return epochs, pages * os.sysconf("SC_PAGE_SIZE") / 2**20, files


def _times_left(text: str) -> list[int]:
    """Return the estimates of the time left that the run has printed, in seconds."""
    found = re.findall(r"(?:(\d+):)?(\d+):(\d\d) left", text)
    return [3600 * int(hours or 0) + 60 * int(minutes) + int(seconds) for hours, minutes, seconds in found]
