"""Writes docs/label_errors.md from the records under reference/label_errors."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PREFACE = """# Finding wrong labels: PENCIL and cleanlab

Made from the records under `reference/label_errors` by `benchmarks/label_errors_page.py`; do not edit. Both
systems see the same noisy labels and use the same network, one after the other
(`python benchmarks/label_errors.py CELL`). PENCIL trains once, by the default recipe and, as another system, by the
recipe `fast`; its quality ranks, its corrected labels are the flags and the repair. For cleanlab the network is
trained five times with cross entropy (5-fold cross-validation); `get_label_quality_scores` ranks, `find_label_issues`
flags, and the prediction repairs what is flagged.

cleanlab may choose between several lengths of training. Each is a training of its own, with a learning rate that falls
to zero over exactly that length. The one with the best F1 is shown: it is chosen by the true labels, which nobody has
in real life, and only its own time is counted, not the search. Symmetric noise includes the true class. One trial a
row.
"""
TITLES = "data|system|AUROC|AUPRC|precision|recall|F1|given → repaired labels correct|epochs|seconds"
SOURCES = {"digits": "Digits", "cifar10": "CIFAR-10"}


def records() -> list[dict[str, Any]]:
    """Read the committed records."""
    paths = sorted((ROOT / "reference" / "label_errors").glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def page(found: list[dict[str, Any]]) -> str:
    """Return the page, made of records."""
    measured = {record["dataset"] for record in found}
    lines = [PREFACE]
    lines += [f"{title} has not been measured yet.\n" for name, title in SOURCES.items() if name not in measured]
    lines += ["| " + TITLES.replace("|", " | ") + " |", "|" + "---|" * 10]
    for record in found:
        lines += [row(record, name, figures) for name, figures in record["systems"].items()]
    ours = [(record, name) for record in found for name in record["systems"] if name != "cleanlab"]
    lines += ["", "## Won or lost", "", *(verdict(record, name) for record, name in ours)]
    lines += ["", "## Lengths that cleanlab's network was trained for", "", *map(lengths, found)]
    return "\n".join(lines) + "\n"


def row(record: dict[str, Any], name: str, x: dict[str, Any]) -> str:
    """Return one system's line of the table."""
    return (
        f"| {record['cell']}, seed {record['seed']} | {name} | {x['auroc']:.4f} | {x['auprc']:.4f} | "
        f"{x['precision']:.1f} | {x['recall']:.1f} | {x['f1']:.1f} | {record['given_label_accuracy']:.1f}% → "
        f"{x['label_accuracy']:.1f}% | {x['epochs']}{' × 5' * (name == 'cleanlab')} | {x['seconds']:.0f} |"
    )


def verdict(record: dict[str, Any], name: str) -> str:
    """Say what a recipe of PENCIL does better and worse, and at what share of the time."""
    ours, theirs = record["systems"][name], record["systems"]["cleanlab"]
    names = {"auprc": "AUPRC", "f1": "F1", "label_accuracy": "repaired labels"}
    better = [title for key, title in names.items() if ours[key] > theirs[key]]
    worse = [title for key, title in names.items() if ours[key] <= theirs[key]]
    says = [f"{name} better in {', '.join(better)}"] if better else []
    says += [f"not better in {', '.join(worse)}"] if worse else []
    return f"- {record['cell']}, seed {record['seed']}: {'; '.join(says)}; {_time(record, ours, theirs)}."


def _time(record: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    share = f"{ours['seconds'] / theirs['seconds']:.2f} of cleanlab's time"
    beside = record.get("processes_at_once", 1) - 1
    share += f" (while {beside} other{'s' * (beside > 1)} shared the device)" * bool(beside)
    facts = record["environment"]
    return f"{share}, {facts['device']}, commit {facts.get('commit', 'unknown')[:7]}"


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
