"""The record of the last whole run, under reference/torture, and the page in docs made of it."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .__main__ import CHAPTERS

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "reference" / "torture" / "last.json"
PAGE = ROOT / "docs" / "torture.md"
PACKAGES = ("torch", "numpy", "pyarrow", "pillow", "safetensors")


def write(seed: int, counts: dict[str, dict[str, int]], seconds: dict[str, float]) -> dict[str, Any]:
    """Write the record and the page; return the record."""
    record = {
        "study": "torture",
        "command": f"make torture SEED={seed}",
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _git("rev-parse", "--short", "HEAD")
        + ("+" if _git("status", "--porcelain", "--", "src", "tests") else ""),
        "seed": seed,
        "seconds": round(sum(seconds.values()), 1),
        "hardware": {"processor": platform.machine(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "totals": totals(counts),
        "chapters": {name: {"seconds": seconds[name], "counts": counts[name]} for name in counts},
    }
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(record, indent=2) + "\n")
    PAGE.write_text(page(record))
    return record


def totals(counts: dict[str, dict[str, int]]) -> dict[str, int]:
    """Add up what was survived; whatever fails ends the run before it is recorded, so that nothing here was lost."""
    kills = sum(counts["kills"].values()) + counts["pair"]["killed"] + counts["decisions"]["kills"]
    faults = sum(counts["damage"].values()) + counts["full_disk"].get("filled", 0) + counts["decisions"]["torn"]
    inputs = counts["inputs"]["cases"] + sum(counts["hostile"].values())
    return {"kills_survived": kills, "faults_injected": faults, "inputs_tried": inputs, "lost": 0}


def summary(record: dict[str, Any]) -> str:
    """Return the record in a line."""
    words = ", ".join(f"{name.replace('_', ' ')}: {number:,}" for name, number in record["totals"].items())
    return f"torture: {words} (seed {record['seed']}, {record['seconds']:.0f} s)"


def page(record: dict[str, Any]) -> str:
    """Return the page of the docs."""
    lines = [
        "# What it survives",
        "",
        "<!-- made by tests/torture/record.py from reference/torture/last.json -->",
        "",
        "`make torture` does to real runs what really happens to them, and requires that nothing is lost: the weights,"
        " the labels and the history of a run that was killed are those of an unbroken one to the bit, a damaged file"
        " is named or replaced by an older checkpoint, and bad input ends in one clear line.",
        "",
        "| what | counted | seconds |",
        "|---|---|---|",
    ]
    for name, chapter in record["chapters"].items():
        words = ", ".join(f"{key.replace('_', ' ')} {value:,}" for key, value in chapter["counts"].items())
        lines.append(f"| {CHAPTERS[name]} | {words} | {chapter['seconds']:.0f} |")
    hardware, versions = record["hardware"], record["versions"]
    lines += [
        "",
        f"{summary(record)[len('torture: ') :].capitalize()}. `{record['command']}`, {record['date']}, commit"
        f" {record['commit']}, {hardware['system']} on {hardware['cores']} cores ({hardware['processor']}); "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + ".",
        "",
        "What is promised about hostile files is in `SECURITY.md`.",
    ]
    return "\n".join(lines) + "\n"


def _git(*arguments: str) -> str:
    ended = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stdout.strip()
