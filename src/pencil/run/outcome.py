"""What a finished training comes to: a row for every example, the summary, and the files of the run folder.

Shapes: N examples (training and held-out), C classes.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pencil.data.dataset import Examples, Selection
from pencil.engine import Engine
from pencil.engine.evaluate import Evaluator
from pencil.quality.decide import decide
from pencil.quality.noise import estimate_noise
from pencil.quality.score import Scores, score
from pencil.results import documents, environment, labels_table, summary
from pencil.results.arrays import write_arrays
from pencil.results.folder import RunFolder
from pencil.run.build import Machine
from pencil.run.plan import Plan
from pencil.runtime import device_name

NEVER = -1


@dataclass(frozen=True, eq=False)
class Believed:
    """What a run believes of its examples, column by column."""

    distribution: NDArray[np.float32]
    mean_prediction: NDArray[np.float32]
    network: NDArray[np.int64]
    changed_at: NDArray[np.int32]
    num_changes: NDArray[np.int32]


def write_outcome(
    engine: Engine, plan: Plan, machine: Machine, folder: RunFolder, history: list[dict[str, Any]]
) -> None:
    """Write labels, distributions, weights, what prediction needs, and last of all result.json."""
    # Every process computes its share of the rows; one writes.
    table, distributions, scores = _label_rows(engine, plan)
    if not machine.processes.leads:
        return
    labels_table.write_labels(folder.labels, table)
    labels_table.write_distributions(folder.label_distributions, distributions)
    weights = {k: v.detach().cpu().contiguous().numpy() for k, v in engine.state.model.state_dict().items()}
    write_arrays(folder.model, weights)
    write_description(plan, folder)
    summary.write_summary(folder.result, _summary(engine, plan, machine, history, table, scores))


def write_description(plan: Plan, folder: RunFolder) -> None:
    """Write what prediction and review need to know of the data."""
    dataset = plan.dataset
    documents.write_classes(folder.classes, dataset.class_names)
    # A table's columns are found again by their names, whatever order another table has them in.
    columns = {"features": dataset.facts["features"]} if "features" in dataset.facts else {}
    documents.write_json(folder.preprocessing, asdict(dataset.preparation) | columns)
    documents.write_split(
        folder.split,
        train=len(dataset.train),
        held_out=len(dataset.held_out or ()),
        test=len(dataset.test or ()),
        fingerprint=str(dataset.facts.get("fingerprint", "")),
        seed=plan.settings.seed,
    )


def _label_rows(engine: Engine, plan: Plan) -> tuple[pa.Table, NDArray[np.float32], Scores]:
    dataset = plan.dataset
    sets = [(dataset.train, _trained(engine), "train")]
    if dataset.held_out is not None:
        sets.append((dataset.held_out, _held_out(engine, plan), "held-out"))
    order = _source_order([examples for examples, _, _ in sets])

    def column(values: list[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(values)[order]

    believed = Believed(*(column([getattr(b, name) for _, b, _ in sets]) for name in Believed.__dataclass_fields__))
    given = column([e.given for e, _, _ in sets])
    trusted = column([np.zeros(len(e), bool) if e.trusted is None else e.trusted for e, _, _ in sets])
    clean = column([np.full(len(e), -1) if e.clean is None else e.clean for e, _, _ in sets])
    scores = score(believed.distribution, believed.mean_prediction, given)
    table = labels_table.build_labels(
        class_names=dataset.class_names,
        ids=column([e.ids for e, _, _ in sets]),
        given=given,
        corrected=scores.corrected,
        confidence=scores.confidence,
        entropy=scores.entropy,
        quality=scores.quality,
        network=believed.network,
        changed_at=believed.changed_at,
        num_changes=believed.num_changes,
        decision=decide(scores, given, trusted=trusted),
        split=column([np.full(len(e), name) for e, _, name in sets]),
        clean=clean,
    )
    return table, believed.distribution, scores


def _trained(engine: Engine) -> Believed:
    columns = engine.state.table.columns
    network = engine.train_evaluator.logits(engine.state.model).softmax(-1)
    counts = columns["predictions"].clamp(min=1).unsqueeze(-1)
    tracked = (columns["predictions"] > 0).unsqueeze(-1)
    mean = (columns["prediction_sum"] / counts).where(tracked, network)
    return Believed(
        distribution=engine.state.table.distributions().float().cpu().numpy(),
        mean_prediction=mean.float().cpu().numpy(),
        network=network.argmax(-1).cpu().numpy(),
        changed_at=columns["changed_at"].cpu().numpy(),
        num_changes=columns["num_changes"].cpu().numpy(),
    )


def _held_out(engine: Engine, plan: Plan) -> Believed:
    """The network never learned these labels, so its own prediction is what is believed of them."""
    evaluator: Evaluator = engine.watched["held_out"].evaluator
    network = evaluator.logits(engine.state.model).softmax(-1).float().cpu().numpy()
    return Believed(
        distribution=network,
        mean_prediction=network,
        network=network.argmax(-1),
        changed_at=np.full(len(network), NEVER, dtype=np.int32),
        num_changes=np.zeros(len(network), dtype=np.int32),
    )


def _source_order(sets: list[Examples]) -> NDArray[np.int64]:
    """Return the permutation that puts split examples back into the order of their source."""
    inputs = [examples.inputs for examples in sets]
    if not all(isinstance(i, Selection) for i in inputs):
        return np.arange(sum(len(examples) for examples in sets))
    selections = [i for i in inputs if isinstance(i, Selection)]
    if any(s.base is not selections[0].base for s in selections):
        return np.arange(sum(len(examples) for examples in sets))
    return np.argsort(np.concatenate([s.index for s in selections]), kind="stable")


def _summary(
    engine: Engine,
    plan: Plan,
    machine: Machine,
    history: list[dict[str, Any]],
    table: pa.Table,
    scores: Scores,
) -> summary.Summary:
    settings, dataset = plan.settings, plan.dataset
    given, clean = (
        np.asarray(table[name].fill_null(-1)) if name in table.column_names else None for name in ("given", "clean")
    )
    assert given is not None
    steady = sum(record["seconds"] for record in history) or 1.0
    return summary.Summary(
        method=settings.method,
        dataset=dataset.name,
        seed=settings.seed,
        num_examples=len(dataset.train),
        num_classes=dataset.num_classes,
        test_accuracy=best_and_last(history),
        label_accuracy=_label_accuracy(table, clean),
        num_changed=int(((scores.corrected != given) & (given >= 0)).sum()),
        num_suspect=sum(d != "keep" for d in table["decision"].to_pylist()),
        estimated_noise_rate=estimate_noise(given, scores.corrected, dataset.num_classes).rate,
        seconds=engine.seconds,
        images_per_second=len(history) * len(dataset.train) / steady,
        environment=environment.environment(
            {
                "device": device_name(machine.device),
                "precision": machine.precision.name,
                "threads": machine.threads,
                "processes": machine.processes.count,
            }
        ),
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


def best_and_last(history: list[dict[str, Any]]) -> dict[str, float] | None:
    """Test accuracy at the epoch of best accuracy on the held-out split, and at the last epoch."""
    if not history or "test_accuracy" not in history[-1]:
        return None
    last = history[-1]
    best = max(history, key=lambda record: record["held_out_accuracy"]) if "held_out_accuracy" in last else last
    return {"best": best["test_accuracy"], "last": last["test_accuracy"]}
