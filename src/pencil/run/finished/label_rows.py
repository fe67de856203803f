"""A row for every example of a finished training: what was given, what is believed, and how surely.

Shapes: N examples (training and held-out), C classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot

from pencil.data.dataset import Examples, Selection
from pencil.engine import Engine
from pencil.errors import PencilError
from pencil.quality.decide import decide_known
from pencil.quality.score import Scores, favoured, score
from pencil.results import labels_table
from pencil.run.finished.beware import beware, has_last_word
from pencil.run.planning.plan import Plan

NEVER = -1


DENSE_BYTES = 2 * 2**30
"""Distributions larger than this are written as their strongest classes."""
KEPT = 16
NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Believed:
    """What a run believes of some examples, column by column."""

    corrected: NDArray[np.int64]
    confidence: NDArray[np.float64]
    entropy: NDArray[np.float64]
    quality: NDArray[np.float64]
    network: NDArray[np.int64]
    settled: NDArray[np.bool_]
    """Whether the label changed once more, at the very end."""
    shares: NDArray[np.float32]
    """[N, C] y^d, or [N, K] of its strongest classes."""
    classes: NDArray[np.int64]
    """[N, K] those classes; [N, 0] where all are there."""


def label_rows(
    engine: Engine, plan: Plan, history: list[dict[str, Any]], decided: Mapping[str, int] = NOTHING
) -> tuple[pa.Table, Believed]:
    """Return the rows of labels.parquet, in the order of the source, and what is believed of each.

    `decided` are the classes that people chose before, by id; those of training examples are locked in the table.
    """
    dataset, careful = plan.dataset, beware(plan, history) is not None
    sets = [(dataset.train, _trained(engine, plan, settles=has_last_word(plan, history)), "train")]
    chosen = np.array([decided.get(name, -1) for name in (dataset.held_out.ids if dataset.held_out else ())], np.int64)
    if dataset.held_out is not None:
        sets.append((dataset.held_out, _held_out(engine, plan, dataset.held_out, chosen), "held-out"))
    order = _source_order([examples for examples, _, _ in sets])

    def column(values: list[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(values)[order]

    believed = Believed(*(column([getattr(b, f.name) for _, b, _ in sets]) for f in fields(Believed)))
    given = column([e.given for e, _, _ in sets])
    trusted = column([_trusted(e) for e, _, _ in sets])
    untouched = len(dataset.held_out or ())
    columns = engine.state.table.columns
    locked = column([(columns["locked"] & columns["labelled"]).cpu().numpy(), chosen >= 0])
    changed_at = column([columns["changed_at"].cpu().numpy(), np.full(untouched, NEVER)])
    num_changes = column([columns["num_changes"].cpu().numpy(), np.zeros(untouched, dtype=np.int32)])
    known = trusted | locked
    # What is known needs no evidence.
    quality = np.where(known & (given >= 0), believed.corrected == given, believed.quality)
    scores = Scores(believed.corrected, believed.confidence, believed.entropy, quality)
    split = column([np.full(len(e), name) for e, _, name in sets])
    table = labels_table.build_labels(
        class_names=dataset.class_names,
        ids=column([e.ids for e, _, _ in sets]),
        given=given,
        corrected=believed.corrected,
        confidence=believed.confidence,
        entropy=believed.entropy,
        quality=quality,
        network=believed.network,
        changed_at=np.where(believed.settled, engine.epoch - 1, changed_at),
        num_changes=num_changes + believed.settled,
        decision=decide_known(scores, given, known, split == "held-out", careful=careful),
        split=split,
        trusted=known,
        clean=column([np.full(len(e), -1) if e.clean is None else e.clean for e, _, _ in sets]),
    )
    return table, believed


def _trained(engine: Engine, plan: Plan, *, settles: bool) -> Believed:
    """Training examples: the learned distribution, and the network's view over label learning and at the end."""
    table, given = engine.state.table, plan.dataset.train.given
    blocks = []
    for rows, outputs in engine.train_evaluator.blocks(engine.state.network):
        network = outputs.softmax(-1)
        mean = network
        if "prediction_sum" in table.columns:
            count = table.columns["predictions"][rows].unsqueeze(-1)
            earlier = (table.columns["prediction_sum"][rows] / count.clamp(min=1)).where(count > 0, network)
            mean = (earlier + network) / 2
        learned = table.distributions(rows)
        if (given[rows] < 0).any():
            blank = _blank(learned, given[rows])
            believed = engine.state.method.unlearned(outputs, torch.zeros_like(network))
            learned = _fitting(believed, network, "unlearned").to(learned).where(blank.unsqueeze(-1), learned)
        ended = learned
        if settles:
            ended = _fitting(engine.state.method.last_word(learned, network.to(learned)), learned, "last_word")
        label = learned.where(table.columns["locked"][rows].unsqueeze(-1), ended)
        blocks.append(_believed(label, mean, network, given[rows], _cut(plan), learned))
    return _joined(blocks)


def _blank(label: Tensor, given: NDArray[np.int64]) -> Tensor:
    """Say which examples have no label and learned none, as by a method that moves none."""
    missing = torch.from_numpy(given < 0).to(label.device)
    return missing & (label == label[:, :1]).all(-1)


def _held_out(engine: Engine, plan: Plan, examples: Examples, chosen: NDArray[np.int64]) -> Believed:
    """The network never learned these labels: what the method makes of them and of its predictions is believed.

    What a person chose (else −1) or the data says is right stands.
    """
    blocks = []
    known = torch.from_numpy(np.where(chosen >= 0, chosen, np.where(_trusted(examples), examples.given, -1)))
    for rows, outputs in engine.watched["held_out"].evaluator.blocks(engine.state.network):
        network, given = outputs.softmax(-1), examples.given[rows]
        given_BC = _certain(torch.from_numpy(given), network)
        believed = _fitting(engine.state.method.unlearned(outputs, given_BC), network, "unlearned")
        sure = (known[rows] >= 0).to(network.device).unsqueeze(-1)
        label = _certain(known[rows], network).where(sure, believed)
        blocks.append(_believed(label, network, network, given, _cut(plan), label))
    return _joined(blocks)


def _fitting(distribution: Tensor, like: Tensor, what: str) -> Tensor:
    """Return what a method believes of labels, or refuse what is no distribution for each: it may be anyone's."""
    if distribution.shape != like.shape:
        raise PencilError(
            f"the method's {what} gives the shape {list(distribution.shape)}; it must be {list(like.shape)}, a share"
            " for each class of each example. Mend it, and go on with --resume."
        )
    return distribution


def _certain(class_B: Tensor, like: Tensor) -> Tensor:
    """Return a distribution for each class, all zeros for −1."""
    certain = one_hot(class_B.clamp(min=0), like.shape[1]) * (class_B >= 0).unsqueeze(-1)
    return certain.to(like)


def _trusted(examples: Examples) -> NDArray[np.bool_]:
    """Say which labels the data says are right."""
    return np.zeros(len(examples), np.bool_) if examples.trusted is None else examples.trusted & (examples.given >= 0)


def _cut(plan: Plan) -> int:
    """Return how many classes of each distribution are written; 0 for all."""
    dataset = plan.dataset
    size = 4 * dataset.num_classes * (len(dataset.train) + len(dataset.held_out or ()))
    return min(KEPT, dataset.num_classes) if size > DENSE_BYTES else 0


def _believed(
    label: Tensor, mean: Tensor, network: Tensor, given: NDArray[np.int64], kept: int, learned: Tensor
) -> Believed:
    distribution = label.float().cpu().numpy()
    scores = score(distribution, mean.float().cpu().numpy(), given)
    before = favoured(learned.float().cpu().numpy(), given)
    classes = np.argsort(-distribution, axis=1, kind="stable")[:, :kept]
    return Believed(
        corrected=scores.corrected,
        confidence=scores.confidence,
        entropy=scores.entropy,
        quality=scores.quality,
        network=network.argmax(-1).cpu().numpy(),
        settled=scores.corrected != before,
        shares=np.take_along_axis(distribution, classes, axis=1) if kept else distribution,
        classes=classes,
    )


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
