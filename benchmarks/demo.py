"""Measures the demo over three seeds: records, the README's table and its picture.

python benchmarks/demo.py            run `pencil demo --seeds 3` (a few minutes), then write all three
python benchmarks/demo.py --readme   write the README's table again from the records
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from generated import Generated

from pencil.cli.demo import METHODS, NOISE
from pencil.config import read_toml
from pencil.figures.curves import draw_curves
from pencil.figures.style import render
from pencil.results.read import read_run

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "reference" / "demo"
PART = Generated("demo", "reference/demo by benchmarks/demo.py")


def main(arguments: Sequence[str]) -> None:
    """Run the demo unless only the README is asked for."""
    if "--readme" not in arguments:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "demo"
            subprocess.run([sys.executable, "-m", "pencil", "demo", "--seeds", "3", "--out", str(out)], check=True)
            write_records(out)
    readme = ROOT / "README.md"
    readme.write_text(PART.put(readme.read_text(encoding="utf-8"), table(read_records())), encoding="utf-8")


def write_records(out: Path) -> None:
    """Turn the demo's run folders into records, and the first seed's histories into the picture."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    for folder in sorted(out.glob("*-seed-*")):
        config, run = read_toml(folder / "config.toml"), read_run(folder)
        phases = {name: phase["epochs"] for name, phase in config["phases"].items()}
        record = run.result | {
            "study": "demo",
            "cell": "symmetric-40",
            "noise": NOISE,
            "recipe": config["recipe"],
            "backbone": config["backbone"],
            "phases": phases,
            "epochs": sum(phases.values()),
            "command": "pencil demo --seeds 3",
        }
        text = json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        (RECORDS / f"{folder.name}.json").write_text(text, encoding="utf-8")
    histories = {title: read_run(out / f"{method}-seed-0").history for method, title in METHODS.items()}
    picture = draw_curves(histories, phases_of="PENCIL")
    (ROOT / "docs" / "images" / "demo.svg").write_bytes(render(picture, "svg"))


def read_records() -> list[dict[str, Any]]:
    """Read the committed records."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RECORDS.glob("*.json"))]


def table(records: list[dict[str, Any]]) -> str:
    """Return the README's table with a line on how it was measured."""
    lines = [
        "| mean of 3 seeds | test accuracy, best | last | correct labels, given → corrected | training |",
        "|---|---|---|---|---|",
    ]
    for method, title in METHODS.items():
        runs = [record for record in records if record["method"] == method]
        test = {rule: mean(run["test_accuracy"][rule] for run in runs) for rule in ("best", "last")}
        labels = {when: mean(run["label_accuracy"][when] for run in runs) for when in ("given", "corrected")}
        seconds = mean(run["seconds"] for run in runs)
        lines.append(
            f"| {title} | {test['best']:.1f}% | {test['last']:.1f}% | {labels['given']:.1f}% → "
            f"{labels['corrected']:.1f}% | {seconds:.0f} s |"
        )
    device = records[0]["environment"]["device"]
    note = (
        f"`{records[0]['command']}`: symmetric noise 0.4 (the true class included), 80% of the digits for training of "
        f"which a tenth is held out with noisy labels, 20% for test; best: at the epoch of best accuracy on the noisy "
        f"held-out labels; {device}. Records: [reference/demo](reference/demo)."
    )
    return "\n".join(lines) + f"\n\n{note}\n"


if __name__ == "__main__":
    main(sys.argv[1:])
