"""What a finished training comes to: the summary, and the files of the run folder."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pencil.data import inputs_digest
from pencil.engine import Engine
from pencil.quality.noise import estimate_noise, questioned
from pencil.quality.thresholds import scores_of
from pencil.results import documents, labels_table, summary
from pencil.results.arrays import write_arrays
from pencil.results.decisions import reviewed
from pencil.results.distributions import write_distributions, write_top
from pencil.results.folder import RunFolder
from pencil.results.history import last_standing
from pencil.results.lost_classes import lost_in_the_end
from pencil.run.finished.beware import beware, look_first
from pencil.run.finished.label_rows import label_rows
from pencil.run.planning.plan import Plan
from pencil.run.planning.preparation import OF_TABLES
from pencil.types import Phase


def write_outcome(
    engine: Engine, plan: Plan, made_with: Mapping[str, Any], folder: RunFolder, history: list[dict[str, Any]]
) -> frozenset[int]:
    """Write labels, distributions, weights, what prediction needs, and last of all result.json.

    Return the classes that lost all their examples.
    """
    table, believed = label_rows(engine, plan, history, reviewed(folder))
    labels_table.write_labels(folder.labels, table)
    if believed.classes.shape[1]:
        write_top(folder.label_distributions, believed.classes, believed.shares, plan.dataset.num_classes)
    else:
        write_distributions(folder.label_distributions, believed.shares)
    weights = {k: v.detach().cpu().contiguous().numpy() for k, v in engine.state.network.state_dict().items()}
    write_arrays(folder.model, weights)
    write_description(plan, folder)
    summary.write_summary(folder.result, summarise(engine, plan, made_with, history, table))
    given, corrected = (np.asarray(table[name].fill_null(-1)) for name in ("given", "corrected"))
    return lost_in_the_end(given, corrected, np.asarray(table["split"]))


def write_description(plan: Plan, folder: RunFolder) -> None:
    """Write what prediction and review need to know of the data."""
    dataset = plan.dataset
    documents.write_classes(folder.classes, dataset.class_names)
    columns = {name: value for name, value in dataset.facts.items() if name in OF_TABLES}
    documents.write_json(folder.preprocessing, asdict(dataset.preparation) | columns)
    documents.write_split(
        folder.split,
        train=len(dataset.train),
        held_out=len(dataset.held_out or ()),
        test=len(dataset.test or ()),
        fingerprint=str(dataset.facts.get("fingerprint", "")),
        inputs=inputs_digest(dataset),
        seed=plan.settings.seed,
        noise=dataset.facts.get("noise"),
    )


def summarise(
    engine: Engine,
    plan: Plan,
    made_with: Mapping[str, Any],
    history: list[dict[str, Any]],
    table: pa.Table,
) -> summary.Summary:
    """Return the run in a few numbers."""
    settings, dataset = plan.settings, plan.dataset
    given, corrected = (np.asarray(table[name].fill_null(-1)) for name in ("given", "corrected"))
    clean = np.asarray(table["clean"].fill_null(-1)) if "clean" in table.column_names else None
    moves = any(phase.rule.moves for phase in plan.phases)
    asked = questioned(given, corrected, np.asarray(table["split"]), moves=moves)
    steady = sum(record["seconds"] for record in history) or 1.0
    return summary.Summary(
        method=settings.method,
        extra_information=plan.method.extra_information or None,
        dataset=dataset.name,
        seed=settings.seed,
        num_examples=len(dataset.train),
        num_held_out=len(dataset.held_out or ()),
        num_classes=dataset.num_classes,
        test_accuracy=best_and_last(of_last_network(history, plan.phases)),
        label_accuracy=_label_accuracy(table, clean),
        detection=_detection(table, given, clean),
        caution=beware(plan, history),
        hint=look_first(plan, history),
        num_changed=int(((corrected != given) & (given >= 0)).sum()),
        num_suspect=int(labels_table.suspects(table).sum()),
        estimated_noise_rate=estimate_noise(given[asked], corrected[asked], dataset.num_classes).rate,
        seconds=engine.seconds,
        images_per_second=len(history) * len(dataset.train) / steady,
        environment=made_with,
    )


def _label_accuracy(table: pa.Table, clean: NDArray[np.int64] | None) -> dict[str, float] | None:
    """Compare training labels with the truth; held-out labels were not learned and don't count here."""
    if clean is None:
        return None
    counted = (clean >= 0) & (np.asarray(table["split"]) == "train")
    if not counted.any():
        return None
    return {
        name: 100 * float((np.asarray(table[name].fill_null(-1))[counted] == clean[counted]).mean())
        for name in ("given", "corrected")
    }


def _detection(table: pa.Table, given: NDArray[np.int64], clean: NDArray[np.int64] | None) -> dict[str, float] | None:
    """Measure how well wrong training labels were found; None where there are none, or nothing else."""
    if clean is None:
        return None
    counted = (clean >= 0) & (given >= 0) & (np.asarray(table["split"]) == "train")
    if len(np.unique(given[counted] == clean[counted])) < 2:
        return None
    from pencil.quality.detection import measure_detection

    rows = table.filter(pa.array(counted))
    found = measure_detection(scores_of(rows), given[counted], np.asarray(rows["decision"]).astype(str), clean[counted])
    assert found.auprc is not None and found.auroc is not None
    return {"auprc": found.auprc, "auroc": found.auroc, "f1": found.suspect["f1"]}


def of_last_network(history: list[dict[str, Any]], phases: Sequence[Phase]) -> list[dict[str, Any]]:
    """Return the epochs of the network that a run ends with, where phases begin with a new one."""
    fresh = {phase.name for phase in phases if phase.fresh_network}
    starts = [n for n, epoch in enumerate(history) if epoch["phase"] in fresh and epoch["phase_epoch"] == 0]
    return history[starts[-1] :] if starts else history


def best_and_last(history: list[dict[str, Any]]) -> dict[str, float] | None:
    """Test accuracy at the epoch of best accuracy on the held-out split, and at the last epoch that stands."""
    if not history or "test_accuracy" not in history[-1]:
        return None
    last = last_standing(history)
    best = max(history, key=lambda record: record["held_out_accuracy"]) if "held_out_accuracy" in last else last
    return {"best": best["test_accuracy"], "last": last["test_accuracy"]}
