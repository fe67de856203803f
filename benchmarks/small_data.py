"""Measures the default on small real data that come with scikit-learn, beside cross entropy: records and a page.

python benchmarks/small_data.py            run every cell that has no record, three seeds each, then write the page
python benchmarks/small_data.py wine:0.3   run these cells again
python benchmarks/small_data.py --page     write docs/small_data.md again from the records
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

import pencil
from pencil.data import Dataset, from_arrays

ROOT = Path(__file__).parents[1]
RECORDS, PAGE = ROOT / "reference" / "small_data", ROOT / "docs" / "small_data.md"
SEEDS = (0, 1, 2)
METHODS = {"pencil": "PENCIL, default", "cross_entropy": "cross entropy"}
DATA: dict[str, tuple[str, Callable[[], Any]]] = {
    "digits": ("digits, as images", datasets.load_digits),
    "digit_rows": ("digits, as 64 numbers", datasets.load_digits),
    "breast_cancer": ("breast cancer", datasets.load_breast_cancer),
    "wine": ("wine", datasets.load_wine),
    "iris": ("iris", datasets.load_iris),
}
CELLS = [f"{name}:{rate}" for name in DATA for rate in ("0", "0.3")]
PREFACE = """# The default on small data

Made from the records under `reference/small_data` by `benchmarks/small_data.py`; do not edit. Real data that come with
scikit-learn, a fifth of them for test, with right labels and with 30% symmetric noise (the true class included).
`pencil train` with no settings (for images the demo's smaller network), and cross entropy with the same network,
optimizer, for 80 epochs (PENCIL: 60, and a first phase whose length the data decide).
Means of three seeds, each with a split and noise of its own; test accuracy after the
last epoch. A tenth of the training examples is held out, with noisy labels. "Right labels kept" are labels given right
that are right at the end.

| data | trained on | noise | method | test accuracy | correct labels, given → corrected | right labels kept |
|---|---|---|---|---|---|---|
"""


def main(arguments: Sequence[str]) -> None:
    """Run what is asked for and write the page."""
    if "--page" not in arguments:
        for cell in arguments or [cell for cell in CELLS if not _file(cell).exists()]:
            RECORDS.mkdir(parents=True, exist_ok=True)
            text = json.dumps(measure(cell, SEEDS), indent=2, sort_keys=True, ensure_ascii=False)
            _file(cell).write_text(text + "\n", encoding="utf-8")
    PAGE.write_text(page(read_records()), encoding="utf-8")


def measure(cell: str, seeds: Sequence[int], epochs: Sequence[int] | None = None) -> dict[str, Any]:
    """Train both methods on a cell, once a seed."""
    name, rate = cell.split(":")
    runs = []
    for seed in seeds:
        dataset = load(name, seed)
        for method in METHODS:
            length = epochs if method == "pencil" or epochs is None else [sum(epochs)]
            noise = {"noise": f"symmetric:{rate}"} if float(rate) else {}
            small = {"backbone_options": {"width": 16}} if name == "digits" else {}
            result = pencil.fit(dataset, method=method, seed=seed, device="cpu", epochs=length, settings=small, **noise)
            runs.append({"method": method, "seed": seed, "right_kept": _kept(result.labels)} | result.summary)
            print(f"{cell} seed {seed} {method}: {runs[-1]['test_accuracy']} {runs[-1]['label_accuracy']}", flush=True)
    return {"cell": cell, "command": f"python benchmarks/small_data.py {cell}", "runs": runs}


def load(name: str, seed: int) -> Dataset:
    """Return the data with a fifth of it as test set."""
    found = DATA[name][1]()
    x: NDArray[Any] = found.data.astype(np.float32)
    if name == "digits":
        x = (found.images * (255 / 16)).astype(np.uint8)[..., None]
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = x[order], found.target[order].astype(np.int64)
    cut = len(x) * 4 // 5
    names, test = [str(name) for name in found.target_names], (x[cut:], y[cut:])
    return from_arrays(x[:cut], y[:cut], clean=y[:cut], class_names=names, test=test)


def _kept(labels: Any) -> float:
    split, given, clean, corrected = (np.asarray(labels[name]) for name in ("split", "given", "clean", "corrected"))
    right = (split == "train") & (given == clean)
    return float(100 * (corrected[right] == clean[right]).mean())


def read_records() -> list[dict[str, Any]]:
    """Read the committed records, in the order of the cells."""
    return [json.loads(_file(cell).read_text(encoding="utf-8")) for cell in CELLS if _file(cell).exists()]


def page(records: list[dict[str, Any]]) -> str:
    """Return the page, made of records."""
    lines = [row(record, method) for record in records for method in METHODS]
    facts = [run["environment"] for record in records for run in record["runs"]]
    commits = sorted({fact.get("commit", "unknown")[:7] for fact in facts})
    missing = [cell for cell in CELLS if cell not in {record["cell"] for record in records}]
    lines += [f"\nNot measured yet: {', '.join(missing)}."] if missing else []
    lines += [f"\n{', '.join(sorted({fact['device'] for fact in facts}))}; commit {', '.join(commits)}."]
    return PREFACE + "\n".join(lines) + "\n"


def row(record: dict[str, Any], method: str) -> str:
    """Return one method's line of a cell."""
    name, rate = record["cell"].split(":")
    runs = [run for run in record["runs"] if run["method"] == method]
    labels = {when: mean(run["label_accuracy"][when] for run in runs) for when in ("given", "corrected")}
    return (
        f"| {DATA[name][0]} | {runs[0]['num_examples']:,} | {float(rate):.0%} | {METHODS[method]} | "
        f"{mean(run['test_accuracy']['last'] for run in runs):.1f}% | "
        f"{labels['given']:.1f}% → {labels['corrected']:.1f}% | {mean(run['right_kept'] for run in runs):.1f}% |"
    )


def _file(cell: str) -> Path:
    return RECORDS / f"{cell.replace(':', '-')}.json"


if __name__ == "__main__":
    main(sys.argv[1:])
