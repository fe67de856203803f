"""The systems of label_errors.py: each training is done once, and what it found kept in a file."""

import gc
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score
from sklearn.model_selection import StratifiedKFold

import pencil
from pencil.data import Dataset
from pencil.results.atomic import write_atomic
from pencil.results.timing import seconds_compiled
from pencil.run import predict_run
from pencil.runtime import choose_device

FOLDS = 5
COMPILED: set[tuple[str, ...]] = set()
"""What this process has compiled: data, method and recipe."""


@dataclass(frozen=True)
class Recipe:
    """One of PENCIL's recipes; with other lengths of its phases it is another system."""

    name: str
    epochs: tuple[int, ...] = ()
    """Of each phase; none: the recipe's own."""

    @property
    def title(self) -> str:
        """What a record calls it."""
        lengths = f"{' + '.join(map(str, self.epochs))} epochs" * bool(self.epochs)
        name = "" if self.name == "auto" else self.name
        return ", ".join(part for part in ("pencil", name, lengths) if part)

    def __str__(self) -> str:
        return ":".join(part for part in (self.name, ",".join(map(str, self.epochs))) if part)


def on_gpu(shared: dict[str, Any]) -> bool:
    """Say whether a GPU computes; only there are steps compiled."""
    return choose_device(str(shared["hardware"]["device"])).type == "cuda"


def compile_first(what: tuple[str, ...], shared: dict[str, Any], train: Callable[[], object]) -> None:
    """Do a short training, once in this process: those that are timed find its steps in the compiler's cache.

    PENCIL's distortion of images is not among them as a rule: it begins once labels are learned by heart.
    """
    if what in COMPILED or not on_gpu(shared):
        return
    train()
    gc.collect()  # As below; its folder goes with its result.
    COMPILED.add(what)
    print(f"compiled, not counted: {', '.join(what)}", flush=True)


def one_run(dataset: Dataset, recipe: Recipe, shared: dict[str, Any], asked: Any, work: Path) -> dict[str, Any]:
    """Train PENCIL once; its quality ranks, what it would not keep unseen is flagged, its corrected labels repair."""
    path = work / f"{'-'.join(['pencil', recipe.name, *map(str, recipe.epochs)])}.json"
    if not path.exists():
        named = {"recipe": recipe.name, "held_out": asked.held_out, "seed": asked.seed}
        short = partial(pencil.fit, dataset, settings=shared, epochs=(1, 1, 1), **named)
        compile_first((dataset.name, "pencil", recipe.name), shared, short)
        started = time.perf_counter()
        result = pencil.fit(dataset, settings=shared, epochs=recipe.epochs or None, **named)
        seconds = time.perf_counter() - started
        place = {key: row for row, key in enumerate(result.labels["id"].to_pylist())}
        order = np.array([place[str(key)] for key in dataset.train.ids])
        corrected, quality, decision = (
            np.asarray(result.labels[name])[order] for name in ("corrected", "quality", "decision")
        )
        figures = measured(dataset, 1 - quality, decision != "keep", corrected)
        facts = {
            "seconds": round(seconds, 1),
            "seconds_compiled": seconds_compiled(result.history),
            "epochs": len(result.history),
        }
        write_json(path, figures | facts | {"device": result.summary["environment"]["device"]})
        print(f"PENCIL, recipe {recipe}: {seconds:.0f} s", flush=True)
        del result
        gc.collect()  # A captured step keeps its memory on the GPU until then.
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def predict_fold(dataset: Dataset, epochs: int, fold: int, shared: dict[str, Any], seed: int, work: Path) -> None:
    """Predict a fifth of the examples with a network trained on the others, and keep it with the time it took."""
    path = work / f"cleanlab-{epochs}-fold-{fold}.npz"
    if path.exists():
        return
    train = partial(_train_fold, dataset, fold=fold, shared=shared, seed=seed)
    compile_first((dataset.name, "cross_entropy", "fast"), shared, partial(train, epochs=1))
    started = time.perf_counter()
    result, apart = train(epochs=epochs)
    fifth = replace(dataset, train=dataset.train.take(apart))
    device, backbone = str(shared["hardware"]["device"]), str(shared["backbone"])
    found = predict_run(result.folder, fifth, split="train", device=device, backbone=backbone)
    seconds = time.perf_counter() - started
    times = {"seconds": seconds, "seconds_compiled": seconds_compiled(result.history)}

    def write(place: Path) -> None:
        with place.open("wb") as file:
            np.savez(file, rows=apart, probabilities=found.probabilities, **times)

    write_atomic(path, write)
    print(f"cleanlab's network, {epochs} epochs, fold {fold + 1} of {FOLDS}: {seconds:.0f} s", flush=True)
    del result
    gc.collect()


def _train_fold(
    dataset: Dataset, *, epochs: int, fold: int, shared: dict[str, Any], seed: int
) -> tuple[pencil.Result, NDArray[Any]]:
    """Train on all examples but a fifth; return the rows of that fifth, too."""
    given = dataset.train.given
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(given, given))
    kept, apart = folds[fold]
    others = replace(dataset, train=dataset.train.take(kept))
    # By the recipe that takes the least time for an epoch: batches as large as those of PENCIL's fast run.
    result = pencil.fit(
        others, settings=shared, method="cross_entropy", recipe="fast", epochs=[epochs], held_out=0.0, seed=seed
    )
    return result, apart


def cleanlab_figures(dataset: Dataset, epochs: int, work: Path) -> dict[str, Any] | None:
    """Let cleanlab rank and flag by the predictions of one length, which repair what is flagged; None if unfinished."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    paths = [work / f"cleanlab-{epochs}-fold-{fold}.npz" for fold in range(FOLDS)]
    if not all(path.exists() for path in paths):
        return None
    given = dataset.train.given
    probabilities, training = np.zeros((len(given), dataset.num_classes)), np.zeros(2)
    for path in paths:
        with np.load(path) as part:
            probabilities[part["rows"]] = part["probabilities"]
            training += float(part["seconds"]), float(part["seconds_compiled"])
    started = time.perf_counter()
    flagged = find_label_issues(given, probabilities, n_jobs=1)  # A process that holds a GPU must not fork.
    suspicion = 1 - get_label_quality_scores(given, probabilities)
    repaired = np.where(flagged, probabilities.argmax(1), given)
    seconds, compiled = (training + time.perf_counter() - started).round(1).tolist()
    times = {"seconds": seconds, "seconds_compiled": compiled, "epochs": epochs}
    return measured(dataset, suspicion, flagged, repaired) | times


def measured(
    dataset: Dataset, suspicion: NDArray[Any], flagged: NDArray[np.bool_], repaired: NDArray[Any]
) -> dict[str, Any]:
    """Return how well wrong labels were ranked, flagged and repaired."""
    clean = truth(dataset)
    wrong = dataset.train.given != clean
    precision, recall, f1, _ = precision_recall_fscore_support(wrong, flagged, average="binary", zero_division=0)
    return {
        "auroc": round(float(roc_auc_score(wrong, suspicion)), 4),
        "auprc": round(float(average_precision_score(wrong, suspicion)), 4),
        "precision": round(100 * float(precision), 2),
        "recall": round(100 * float(recall), 2),
        "f1": round(100 * float(f1), 2),
        "label_accuracy": percent(repaired == clean),
    }


def truth(dataset: Dataset) -> NDArray[np.int64]:
    """Return the true labels."""
    if dataset.train.clean is None:
        sys.exit(f"the true labels of {dataset.name} are not known; nothing can be measured.")
    return dataset.train.clean


def percent(hits: NDArray[np.bool_]) -> float:
    """Return the share of hits."""
    return round(100 * float(hits.mean()), 2)


def write_json(path: Path, document: Any) -> None:
    """Write a document whole or not at all."""
    write_atomic(path, (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode())
