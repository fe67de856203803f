"""The records of the last whole runs, under reference/torture, and the page in docs made of them."""

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
RECORDS = ROOT / "reference" / "torture"
PAGE = ROOT / "docs" / "torture.md"
PACKAGES = ("torch", "numpy", "pyarrow", "pillow", "safetensors")


def record(
    seed: int, counts: dict[str, dict[str, int]], seconds: dict[str, float], spent: dict[str, float]
) -> dict[str, Any]:
    """Return what one whole run came to, and how long each chapter and all of them took."""
    changed = "+" if _git("status", "--porcelain", "--", "src", "tests") else ""
    return {
        "study": "torture",
        "command": f"make torture SEED={seed}",
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _git("rev-parse", "--short", "HEAD") + changed,
        "seed": seed,
        **{name: round(value, 1) for name, value in spent.items()},
        "hardware": {"processor": platform.machine(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "totals": totals(counts),
        "chapters": {name: {"seconds": seconds[name], "counts": counts[name]} for name in counts},
    }


def write(records: list[dict[str, Any]]) -> None:
    """Write the records of runs that passed one after the other, in place of those before, and the page."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    for old in RECORDS.glob("*.json"):
        old.unlink()
    for each in records:
        (RECORDS / f"seed-{each['seed']}.json").write_text(json.dumps(each, indent=2) + "\n")
    PAGE.write_text(page(records))


def read() -> list[dict[str, Any]]:
    """Return the records that are kept."""
    return sorted((json.loads(file.read_text()) for file in RECORDS.glob("*.json")), key=lambda each: each["seed"])


def totals(counts: dict[str, dict[str, int]]) -> dict[str, int]:
    """Add up what was survived; whatever fails ends the run before it is recorded, so that nothing here was lost."""
    kills = sum(counts["kills"].values()) + counts["pair"]["killed"] + counts["decisions"]["kills"]
    faults = sum(counts["damage"].values()) + counts["full_disk"].get("filled", 0) + counts["decisions"]["torn"]
    inputs = counts["inputs"]["cases"] + sum(counts["hostile"].values()) + sum(counts["forged"].values())
    return {"kills_survived": kills, "faults_injected": faults, "inputs_tried": inputs, "lost": 0}


def summary(record: dict[str, Any]) -> str:
    """Return a record in a line."""
    words = ", ".join(f"{name.replace('_', ' ')}: {number:,}" for name, number in record["totals"].items())
    return f"torture: {words} (seed {record['seed']}, {record['seconds']:.0f} s)"


def page(records: list[dict[str, Any]]) -> str:
    """Return the page of the docs."""
    columns = [f"seed {record['seed']}" for record in records]
    lines = [
        "# What it survives",
        "",
        "<!-- made by tests/torture/record.py from reference/torture -->",
        "",
        "`make torture` does to real runs what really happens to them, and requires that nothing is lost: the weights,"
        " the labels and the history of a run that was killed are those of an unbroken one to the bit, a damaged file"
        " is named or replaced by an older checkpoint, and bad input ends in one clear line.",
        "",
        f"| in a run of | {' | '.join(columns)} |",
        f"|---|{'---|' * len(columns)}",
    ]
    for name in records[0]["totals"]:
        cells = (f"{record['totals'][name]:,}" for record in records)
        lines.append(f"| **{name.replace('_', ' ')}** | {' | '.join(cells)} |")
    for name, what in CHAPTERS.items():
        if any(name in record["chapters"] for record in records):
            lines.append(f"| {what} | {' | '.join(_cell(record['chapters'].get(name)) for record in records)} |")
    took = (f"{record['seconds']:,.0f}" for record in records)
    lines.append(f"| seconds | {' | '.join(took)} |")
    return (
        "\n".join([*lines, "", *map(_made, records), "", "What is promised about hostile files is in `SECURITY.md`."])
        + "\n"
    )


def _cell(chapter: dict[str, Any] | None) -> str:
    """Return what a chapter counted, in words."""
    if chapter is None:
        return "–"
    return ", ".join(f"{key.replace('_', ' ')} {value:,}" for key, value in sorted(chapter["counts"].items()))


def _made(record: dict[str, Any]) -> str:
    hardware, versions = record["hardware"], record["versions"]
    return (
        f"- `{record['command']}`, {record['date']}, commit {record['commit']}, {hardware['system']} on"
        f" {hardware['cores']} cores ({hardware['processor']}); "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + "."
    )


def _git(*arguments: str) -> str:
    ended = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stdout.strip()
