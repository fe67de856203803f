"""What a finished training comes to: a row for every example, the summary, and the files of the run folder.

Shapes: N examples (training and held-out), C classes.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot

from pencil.data.dataset import Examples, Selection
from pencil.engine import Engine
from pencil.quality.decide import decide_known
from pencil.quality.noise import estimate_noise
from pencil.quality.score import Scores, score
from pencil.results import documents, environment, labels_table, summary
from pencil.results.arrays import write_arrays
from pencil.results.distributions import write_distributions, write_top
from pencil.results.folder import RunFolder
from pencil.run.build import Machine
from pencil.run.plan import Plan
from pencil.runtime import device_name

NEVER = -1


DENSE_BYTES = 2 * 2**30
"""Distributions larger than this are written as their strongest classes."""
KEPT = 16


@dataclass(frozen=True, eq=False)
class Believed:
    """What a run believes of some examples, column by column."""

    corrected: NDArray[np.int64]
    confidence: NDArray[np.float64]
    entropy: NDArray[np.float64]
    quality: NDArray[np.float64]
    network: NDArray[np.int64]
    shares: NDArray[np.float32]
    """[N, C] y^d, or [N, K] of its strongest classes."""
    classes: NDArray[np.int64]
    """[N, K] those classes; [N, 0] where all are there."""


def write_outcome(
    engine: Engine, plan: Plan, machine: Machine, folder: RunFolder, history: list[dict[str, Any]]
) -> None:
    """Write labels, distributions, weights, what prediction needs, and last of all result.json."""
    if not machine.processes.leads:
        return
    table, believed = label_rows(engine, plan)
    labels_table.write_labels(folder.labels, table)
    if believed.classes.shape[1]:
        write_top(folder.label_distributions, believed.classes, believed.shares, plan.dataset.num_classes)
    else:
        write_distributions(folder.label_distributions, believed.shares)
    weights = {k: v.detach().cpu().contiguous().numpy() for k, v in engine.state.network.state_dict().items()}
    write_arrays(folder.model, weights)
    write_description(plan, folder)
    summary.write_summary(folder.result, summarise(engine, plan, machine, history, table))


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


def label_rows(engine: Engine, plan: Plan) -> tuple[pa.Table, Believed]:
    """Return the rows of labels.parquet, in the order of the source, and what is believed of each."""
    dataset = plan.dataset
    sets = [(dataset.train, _trained(engine, plan), "train")]
    if dataset.held_out is not None:
        sets.append((dataset.held_out, _held_out(engine, plan, dataset.held_out), "held-out"))
    order = _source_order([examples for examples, _, _ in sets])

    def column(values: list[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(values)[order]

    believed = Believed(*(column([getattr(b, f.name) for _, b, _ in sets]) for f in fields(Believed)))
    given = column([e.given for e, _, _ in sets])
    trusted = column([_trusted(e) for e, _, _ in sets])
    untouched = len(dataset.held_out or ())
    columns = engine.state.table.columns
    locked = column([(columns["locked"] & columns["labelled"]).cpu().numpy(), np.zeros(untouched, dtype=np.bool_)])
    known = trusted | locked
    scores = Scores(believed.corrected, believed.confidence, believed.entropy, believed.quality)
    table = labels_table.build_labels(
        class_names=dataset.class_names,
        ids=column([e.ids for e, _, _ in sets]),
        given=given,
        corrected=believed.corrected,
        confidence=believed.confidence,
        entropy=believed.entropy,
        quality=believed.quality,
        network=believed.network,
        changed_at=column([columns["changed_at"].cpu().numpy(), np.full(untouched, NEVER)]),
        num_changes=column([columns["num_changes"].cpu().numpy(), np.zeros(untouched, dtype=np.int32)]),
        decision=decide_known(scores, given, known),
        split=column([np.full(len(e), name) for e, _, name in sets]),
        trusted=known,
        clean=column([np.full(len(e), -1) if e.clean is None else e.clean for e, _, _ in sets]),
    )
    return table, believed


def _trained(engine: Engine, plan: Plan) -> Believed:
    """Training examples: the learned distribution, weighed with the predictions of the label-learning phase."""
    table, given = engine.state.table, plan.dataset.train.given
    blocks = []
    for rows, outputs in engine.train_evaluator.blocks(engine.state.network):
        network = outputs.softmax(-1)
        mean = network
        if "prediction_sum" in table.columns:
            count = table.columns["predictions"][rows].unsqueeze(-1)
            mean = (table.columns["prediction_sum"][rows] / count.clamp(min=1)).where(count > 0, network)
        blocks.append(_believed(table.distributions(rows), mean, network, given[rows], _cut(plan)))
    return _joined(blocks)


def _held_out(engine: Engine, plan: Plan, examples: Examples) -> Believed:
    """The network never learned these labels, so its own prediction is what is believed of those not known right."""
    blocks = []
    trusted = torch.from_numpy(_trusted(examples))
    for rows, outputs in engine.watched["held_out"].evaluator.blocks(engine.state.network):
        network, given = outputs.softmax(-1), examples.given[rows]
        certain = one_hot(torch.from_numpy(given.clip(min=0)), network.shape[1]).to(network)
        label = certain.where(trusted[rows].to(network.device).unsqueeze(-1), network)
        blocks.append(_believed(label, network, network, given, _cut(plan)))
    return _joined(blocks)


def _trusted(examples: Examples) -> NDArray[np.bool_]:
    """Say which labels the data says are right."""
    return np.zeros(len(examples), np.bool_) if examples.trusted is None else examples.trusted & (examples.given >= 0)


def _cut(plan: Plan) -> int:
    """Return how many classes of each distribution are written; 0 for all."""
    dataset = plan.dataset
    size = 4 * dataset.num_classes * (len(dataset.train) + len(dataset.held_out or ()))
    return min(KEPT, dataset.num_classes) if size > DENSE_BYTES else 0


def _believed(label: Tensor, mean: Tensor, network: Tensor, given: NDArray[np.int64], kept: int) -> Believed:
    distribution = label.float().cpu().numpy()
    scores = score(distribution, mean.float().cpu().numpy(), given)
    classes = np.argsort(-distribution, axis=1, kind="stable")[:, :kept]
    shares = np.take_along_axis(distribution, classes, axis=1) if kept else distribution
    network_class = network.argmax(-1).cpu().numpy()
    return Believed(scores.corrected, scores.confidence, scores.entropy, scores.quality, network_class, shares, classes)


def _joined(blocks: list[Believed]) -> Believed:
    return Believed(*(np.concatenate([getattr(block, f.name) for block in blocks]) for f in fields(Believed)))


def _source_order(sets: list[Examples]) -> NDArray[np.int64]:
    """Return the permutation that puts split examples back into the order of their source."""
    inputs = [examples.inputs for examples in sets]
    if not all(isinstance(i, Selection) for i in inputs):
        return np.arange(sum(len(examples) for examples in sets))
    selections = [i for i in inputs if isinstance(i, Selection)]
    if any(s.base is not selections[0].base for s in selections):
        return np.arange(sum(len(examples) for examples in sets))
    return np.argsort(np.concatenate([s.index for s in selections]), kind="stable")


def summarise(
    engine: Engine,
    plan: Plan,
    machine: Machine,
    history: list[dict[str, Any]],
    table: pa.Table,
) -> summary.Summary:
    """Return the run in a few numbers."""
    settings, dataset = plan.settings, plan.dataset
    given, corrected = (np.asarray(table[name].fill_null(-1)) for name in ("given", "corrected"))
    clean = np.asarray(table["clean"].fill_null(-1)) if "clean" in table.column_names else None
    steady = sum(record["seconds"] for record in history) or 1.0
    return summary.Summary(
        method=settings.method,
        dataset=dataset.name,
        seed=settings.seed,
        num_examples=len(dataset.train),
        num_classes=dataset.num_classes,
        test_accuracy=best_and_last(history),
        label_accuracy=_label_accuracy(table, clean),
        num_changed=int(((corrected != given) & (given >= 0)).sum()),
        num_suspect=sum(d != "keep" for d in table["decision"].to_pylist()),
        estimated_noise_rate=estimate_noise(given, corrected, dataset.num_classes).rate,
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
