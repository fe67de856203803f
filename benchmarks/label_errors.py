"""Finding wrong labels: one PENCIL run against cleanlab on 5-fold cross-validated predictions of the same network.

    python benchmarks/label_errors.py digits --noise symmetric:0.4
    python benchmarks/label_errors.py cifar10 --root DATA --noise asymmetric_cifar10:0.3 --pencil-recipe …

cleanlab (`pip install cleanlab`) gets the better of several training lengths, all with a learning rate that falls to
zero: the one with its best F1 is shown, and only that one's time is counted. Both see the same noisy labels.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score
from sklearn.model_selection import StratifiedKFold

import pencil
from pencil.config import DataSettings
from pencil.data import Dataset, load
from pencil.results.environment import environment
from pencil.run import predict_run

ROOT = Path(__file__).parents[1]
FOLDS = 5
PREFACE = """# Finding wrong labels: PENCIL and cleanlab

Made from the records under `reference/label_errors` by `benchmarks/label_errors.py`; do not edit. Both
systems see the same noisy labels and use the same network, in one process, one after the other.
PENCIL trains once, on all examples, with the default recipe; its quality ranks, its corrected labels are the
flags and the repair. For cleanlab the network is trained five times with cross entropy and a learning rate
that falls to zero (5-fold cross-validation); `get_label_quality_scores` ranks, `find_label_issues` flags, and
the prediction repairs what is flagged. Of several training lengths cleanlab gets the one with its best F1,
and only that one's time is counted. Symmetric noise includes the true class. One trial a row; CIFAR-10 has
not been measured yet.
"""


def main() -> None:
    """Run both and write the record."""
    asked = _arguments()
    # Every example is trained on by PENCIL and predicted out of sample for cleanlab, so none is held out.
    settings = DataSettings(source=asked.source, root=asked.root, noise=asked.noise, labels=asked.labels, held_out=0.0)
    dataset = load(settings, seed=asked.seed)
    shared = {"backbone_options": json.loads(asked.backbone_options), "hardware": {"device": asked.device}}
    rivals = [cleanlab(dataset, epochs, shared, asked.seed) for epochs in asked.epochs]
    found = {"pencil": one_run(dataset, shared, asked), "cleanlab": max(rivals, key=lambda rival: rival["f1"])}
    record = {
        "study": "label_errors",
        "cell": asked.cell,
        "dataset": dataset.name,
        "noise": asked.noise or asked.labels,
        "seed": asked.seed,
        "num_examples": len(dataset.train),
        "given_label_accuracy": _percent(dataset.train.given == _clean(dataset)),
        "systems": found,
        "cleanlab_by_epochs": {str(rival["epochs"]): rival["f1"] for rival in rivals},
        "environment": environment({"device": found["pencil"].pop("device")}),
        "command": "python benchmarks/label_errors.py " + " ".join(sys.argv[1:]),
    }
    show(record)
    path = ROOT / "reference" / "label_errors" / f"{asked.cell}-seed-{asked.seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    (ROOT / "docs" / "label_errors.md").write_text(page(), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--cell", required=True, help="name of the record, e.g. digits-symmetric-40")
    parser.add_argument("--noise", default="")
    parser.add_argument("--labels", default="")
    parser.add_argument("--root", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--pencil-recipe", default="auto")
    parser.add_argument("--backbone-options", default="{}")
    parser.add_argument(
        "--epochs", type=int, nargs="+", default=[10, 20, 40, 80], help="lengths cleanlab may choose from"
    )
    return parser.parse_args()


def one_run(dataset: Dataset, shared: dict[str, Any], asked: argparse.Namespace) -> dict[str, Any]:
    """Train PENCIL once; its quality ranks, its corrected labels are the flags and the repair."""
    started = time.perf_counter()
    result = pencil.fit(dataset, settings=shared, recipe=asked.pencil_recipe, held_out=0.0, seed=asked.seed)
    seconds = time.perf_counter() - started
    place = {key: row for row, key in enumerate(result.labels["id"].to_pylist())}
    order = np.array([place[str(key)] for key in dataset.train.ids])
    corrected = np.asarray(result.labels["corrected"])[order]
    quality = np.asarray(result.labels["quality"])[order]
    flagged = corrected != dataset.train.given
    figures = measured(dataset, 1 - quality, flagged, corrected)
    return figures | {
        "seconds": seconds,
        "epochs": len(result.history),
        "device": result.summary["environment"]["device"],
    }


def cleanlab(dataset: Dataset, epochs: int, shared: dict[str, Any], seed: int) -> dict[str, Any]:
    """Predict each fifth with a network trained on the others; cleanlab ranks and flags, the prediction repairs."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    started = time.perf_counter()
    given = dataset.train.given
    probabilities = np.zeros((len(given), dataset.num_classes))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(given, given)
    for kept, apart in folds:
        fold = replace(dataset, train=dataset.train.take(kept), test=dataset.train.take(apart))
        result = pencil.fit(fold, settings=shared, method="cross_entropy", epochs=[epochs], held_out=0.0, seed=seed)
        device = str(shared["hardware"]["device"])
        probabilities[apart] = predict_run(result.folder, fold, split="test", device=device).probabilities
    flagged = find_label_issues(given, probabilities)
    suspicion = 1 - get_label_quality_scores(given, probabilities)
    repaired = np.where(flagged, probabilities.argmax(1), given)
    seconds = time.perf_counter() - started
    return measured(dataset, suspicion, flagged, repaired) | {"seconds": round(seconds, 1), "epochs": epochs}


def measured(
    dataset: Dataset, suspicion: NDArray[Any], flagged: NDArray[np.bool_], repaired: NDArray[Any]
) -> dict[str, Any]:
    """Return how well wrong labels were ranked, flagged and repaired."""
    clean = _clean(dataset)
    wrong = dataset.train.given != clean
    precision, recall, f1, _ = precision_recall_fscore_support(wrong, flagged, average="binary", zero_division=0)
    return {
        "auroc": round(float(roc_auc_score(wrong, suspicion)), 4),
        "auprc": round(float(average_precision_score(wrong, suspicion)), 4),
        "precision": round(100 * float(precision), 2),
        "recall": round(100 * float(recall), 2),
        "f1": round(100 * float(f1), 2),
        "label_accuracy": _percent(repaired == clean),
    }


def _clean(dataset: Dataset) -> NDArray[np.int64]:
    if dataset.train.clean is None:
        sys.exit(f"the true labels of {dataset.name} are not known; nothing can be measured.")
    return dataset.train.clean


def _percent(hits: NDArray[np.bool_]) -> float:
    return round(100 * float(hits.mean()), 2)


def page() -> str:
    """Return docs/label_errors.md, made of the records."""
    titles = "data, system, AUROC, AUPRC, precision, recall, F1, given → repaired labels correct, epochs, seconds"
    head = "| " + titles.replace(", ", " | ") + " |"
    lines = [PREFACE, head, "|" + "---|" * 10]
    for path in sorted((ROOT / "reference" / "label_errors").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        for name, x in record["systems"].items():
            lines.append(
                f"| {record['cell']}, seed {record['seed']} | {name} | {x['auroc']:.4f} | {x['auprc']:.4f} | "
                f"{x['precision']:.1f} | {x['recall']:.1f} | {x['f1']:.1f} | {record['given_label_accuracy']:.1f}% → "
                f"{x['label_accuracy']:.1f}% | {x['epochs']}{' × 5' * (name == 'cleanlab')} | {x['seconds']:.0f} |"
            )
    return "\n".join(lines) + "\n"


def show(record: dict[str, Any]) -> None:
    """Print both systems side by side."""
    print(f"{record['cell']}: {record['given_label_accuracy']}% of the given labels are right")
    for name, figures in record["systems"].items():
        print(f"  {name:<9}" + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()))
    ours, theirs = (record["systems"][name]["seconds"] for name in ("pencil", "cleanlab"))
    print(f"  time: {ours / theirs:.2f} of cleanlab's")


if __name__ == "__main__":
    main()
