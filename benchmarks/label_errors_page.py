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
recipe `fast`; either with other lengths of its three phases is one more, named by them. Its quality ranks, its
suspects (what it would change, or show to a person) are the flags, and its corrected labels the repair. For cleanlab
the network is trained five times with cross entropy (5-fold cross-validation); `get_label_quality_scores` ranks,
`find_label_issues` flags, and the prediction repairs what is flagged.

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
    names = {
        cell: sorted({name for record in records for name in record["systems"]}) for cell, records in cells.items()
    }
    systems = [(cell, name, having(cells[cell], name)) for cell in cells for name in names[cell]]
    lines = [PREFACE]
    lines += [f"{title} has not been measured yet.\n" for name, title in SOURCES.items() if name not in measured]
    lines += notes(found)
    lines += ["| " + TITLES.replace("|", " | ") + " |", "|" + "---|" * 11]
    lines += [row(*system) for system in systems]
    lines += ["", "## Won or lost", ""]
    lines += [verdict(cell, name, records) for cell, name, records in systems if name != "cleanlab"]
    lines += ["", "## Lengths that cleanlab's network was trained for", ""]
    lines += [lengths(record) for records in cells.values() for record in records]
    return "\n".join(lines) + "\n"


def notes(found: list[dict[str, Any]]) -> list[str]:
    """Name the cells that were measured in another way than the rest."""
    older = [record for record in found if "flagged" not in record]
    before = [record for record in found if record.get("compiled_before")]
    # Nothing is compiled elsewhere than on a GPU.
    on_gpu = [record for record in found if not record["environment"]["device"].startswith(("CPU", "mps"))]
    ways = {
        "Made when changed labels alone were flagged, and ranked with them": older,
        "On a GPU both were compiled before the clock started, but for PENCIL's distortion of images": before,
        "Compiled while the clock ran, which fell mostly on PENCIL, as it ran first": [
            record for record in on_gpu if record not in before
        ],
    }
    return [f"{way}: {', '.join(sorted({r['cell'] for r in these}))}.\n" for way, these in ways.items() if these]


def having(records: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return the records that have a system."""
    return [record for record in records if name in record["systems"]]


def mean_of(records: list[dict[str, Any]], name: str) -> dict[str, float]:
    """Return a system's figures, as means over records that have it."""
    runs = [record["systems"][name] for record in records]
    return {key: mean(run[key] for run in runs) for key in runs[0]}


def row(cell: str, name: str, records: list[dict[str, Any]]) -> str:
    """Return one system's line of the table."""
    x, given = mean_of(records, name), mean(record["given_label_accuracy"] for record in records)
    epochs = f"{x['epochs']:.0f}{' × 5' * (name == 'cleanlab')}"
    alone = f"{x['seconds_compiled']:.0f}" if "seconds_compiled" in x else "–"
    return (
        f"| {_data(cell, records)} | {name} | {x['auroc']:.4f} | {x['auprc']:.4f} | "
        f"{x['precision']:.1f} | {x['recall']:.1f} | {x['f1']:.1f} | {given:.1f}% → "
        f"{x['label_accuracy']:.1f}% | {epochs} | {x['seconds']:.0f} | {alone} |"
    )


def verdict(cell: str, name: str, records: list[dict[str, Any]]) -> str:
    """Say what a recipe of PENCIL does better and worse than cleanlab on the same data, at what share of the time."""
    ours, theirs = mean_of(records, name), mean_of(records, "cleanlab")
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
    """List F1 by epochs, also of an earlier measurement; say where the best lies at an end of what was tried."""
    now, before = record["cleanlab_by_epochs"], record.get("cleanlab_before")
    tried = {int(epochs) for epochs in (*now, *(before["by_epochs"] if before else ()))}
    best = record["systems"]["cleanlab"]["epochs"]
    end = {min(tried): "shorter", max(tried): "longer"}.get(best) if len(tried) > 1 else None
    earlier = f" Earlier, at commit {before['commit'][:7]}: {_by_epochs(before['by_epochs'])}." if before else ""
    note = f" The best is at the end of what was tried; a {end} training might do better." if end else ""
    return f"- {record['cell']}, seed {record['seed']}: F1 {_by_epochs(now)}.{earlier}{note}"


def _by_epochs(tried: dict[str, float]) -> str:
    return ", ".join(f"{tried[epochs]:.1f} after {epochs}" for epochs in sorted(tried, key=int)) + " epochs"


if __name__ == "__main__":
    (ROOT / "docs" / "label_errors.md").write_text(page(records()), encoding="utf-8")
