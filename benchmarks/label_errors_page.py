"""Writes docs/label_errors.md from the records under reference/label_errors."""

import json
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).parents[1]
PREFACE = """# Finding wrong labels: PENCIL and cleanlab

Made from the records under `reference/label_errors` by `benchmarks/label_errors_page.py`; do not edit. Both
systems see the same noisy labels and use the same network, one after the other
(`python benchmarks/label_errors.py CELL`). PENCIL trains once, by the default recipe and, as another system, by the
recipe `fast`; its quality ranks, its suspects (what it would change, or show to a person) are the flags, and its
corrected labels the repair. For cleanlab the network is trained five times with cross entropy (5-fold
cross-validation); `get_label_quality_scores` ranks, `find_label_issues` flags, and the prediction repairs what is
flagged.

cleanlab may choose between several lengths of training. Each is a training of its own, with a learning rate that falls
to zero over exactly that length. The one with the best F1 is shown: it is chosen by the true labels, which nobody has
in real life, and only its own time is counted, not the search. Its network learns by the recipe `fast`, whose batches
are the largest. Symmetric noise includes the true class. A row has the mean over the seeds that it names; every seed
draws its own noise. Seconds are those of everything from the data in memory on; beside them, those of the epochs
alone, compilation taken off.
"""
TITLES = "data|system|AUROC|AUPRC|precision|recall|F1|given → repaired labels correct|epochs|seconds|of epochs"
SOURCES = {"digits": "Digits", "cifar10": "CIFAR-10"}


def records() -> list[dict[str, Any]]:
    """Read the committed records."""
    paths = sorted((ROOT / "reference" / "label_errors").glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def page(found: list[dict[str, Any]]) -> str:
    """Return the page, made of records."""
    measured = {record["dataset"] for record in found}
    cells = {
        name: [record for record in found if record["cell"] == name] for name in sorted({r["cell"] for r in found})
    }
    means = {name: mean_of(records) for name, records in cells.items()}
    lines = [PREFACE]
    lines += [f"{title} has not been measured yet.\n" for name, title in SOURCES.items() if name not in measured]
    older = sorted({record["cell"] for record in found if "flagged" not in record})
    lines += [f"Made when changed labels alone were flagged, and ranked with them: {', '.join(older)}.\n"] * bool(older)
    lines += ["| " + TITLES.replace("|", " | ") + " |", "|" + "---|" * 11]
    lines += [row(cell, records, name, means[cell]) for cell, records in cells.items() for name in means[cell]]
    lines += ["", "## Won or lost", ""]
    ours = [(cell, name) for cell in cells for name in means[cell] if name != "cleanlab"]
    lines += [verdict(cell, cells[cell], name, means[cell]) for cell, name in ours]
    lines += ["", "## Lengths that cleanlab's network was trained for", ""]
    lines += [lengths(record) for records in cells.values() for record in records]
    return "\n".join(lines) + "\n"


def mean_of(records: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return every system's figures, as means over the records of a cell that have it."""
    names = sorted({name for record in records for name in record["systems"]})
    runs = {name: [r["systems"][name] for r in records if name in r["systems"]] for name in names}
    return {name: {key: mean(run[key] for run in each) for key in each[0]} for name, each in runs.items()}


def row(cell: str, records: list[dict[str, Any]], name: str, means: dict[str, dict[str, float]]) -> str:
    """Return one system's line of the table."""
    x, given = means[name], mean(record["given_label_accuracy"] for record in records)
    epochs = f"{x['epochs']:.0f}{' × 5' * (name == 'cleanlab')}"
    alone = f"{x['seconds_compiled']:.0f}" if "seconds_compiled" in x else "–"
    return (
        f"| {_data(cell, records)} | {name} | {x['auroc']:.4f} | {x['auprc']:.4f} | "
        f"{x['precision']:.1f} | {x['recall']:.1f} | {x['f1']:.1f} | {given:.1f}% → "
        f"{x['label_accuracy']:.1f}% | {epochs} | {x['seconds']:.0f} | {alone} |"
    )


def verdict(cell: str, records: list[dict[str, Any]], name: str, means: dict[str, dict[str, float]]) -> str:
    """Say what a recipe of PENCIL does better and worse, and at what share of the time."""
    ours, theirs = means[name], means["cleanlab"]
    names = {"auprc": "AUPRC", "f1": "F1", "label_accuracy": "repaired labels"}
    better = [title for key, title in names.items() if ours[key] > theirs[key]]
    worse = [title for key, title in names.items() if ours[key] <= theirs[key]]
    says = [f"better in {', '.join(better)}"] if better else []
    says += [f"not better in {', '.join(worse)}"] if worse else []
    time = f"{ours['seconds'] / theirs['seconds']:.2f} of cleanlab's time"
    if "seconds_compiled" in ours and "seconds_compiled" in theirs:
        time += f", {ours['seconds_compiled'] / theirs['seconds_compiled']:.2f} of its epochs'"
    return f"- {_data(cell, records)}, {name}: {'; '.join(says)}; {time}, {_machine(records)}."


def _data(cell: str, records: list[dict[str, Any]]) -> str:
    seeds = sorted(record["seed"] for record in records)
    return f"{cell}, seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def _machine(records: list[dict[str, Any]]) -> str:
    beside = max(record.get("processes_at_once", 1) for record in records) - 1
    shared = f" (while {beside} other{'s' * (beside > 1)} shared the device)" * bool(beside)
    facts = [record["environment"] for record in records]
    commits = sorted({fact.get("commit", "unknown")[:7] for fact in facts})
    return f"{', '.join(sorted({fact['device'] for fact in facts}))}{shared}, commit {', '.join(commits)}"


def lengths(record: dict[str, Any]) -> str:
    """List F1 by epochs; say where the best lies at an end of what was tried."""
    tried = {int(epochs): f1 for epochs, f1 in record["cleanlab_by_epochs"].items()}
    best = record["systems"]["cleanlab"]["epochs"]
    figures = ", ".join(f"{f1:.1f} after {epochs}" for epochs, f1 in sorted(tried.items()))
    end = {min(tried): "shorter", max(tried): "longer"}.get(best) if len(tried) > 1 else None
    note = f" The best is at the end of what was tried; a {end} training might do better." if end else ""
    return f"- {record['cell']}, seed {record['seed']}: F1 {figures} epochs.{note}"


if __name__ == "__main__":
    (ROOT / "docs" / "label_errors.md").write_text(page(records()), encoding="utf-8")
