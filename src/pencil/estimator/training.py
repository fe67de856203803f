"""Trains in memory: no run folder, nothing left behind but what was learned."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pencil.config import plain_numbers
from pencil.data import ArrayInputs, Dataset, Preparation
from pencil.data.transforms.augment import Prepare
from pencil.engine import predict
from pencil.estimator.predictions import mean_predictions
from pencil.estimator.progress import Lines
from pencil.results.distributions import spread
from pencil.run.finished.label_rows import label_rows
from pencil.run.finished.outcome import summarise
from pencil.run.planning.plan import Plan, plan
from pencil.run.planning.total import plan_epochs, read_epochs
from pencil.run.training.build import build_engine
from pencil.run.training.layout import suits_pixels_together, with_planes
from pencil.run.training.machine import choose_machine
from pencil.run.training.sittings import Sittings
from pencil.run.training.try_network import try_network
from pencil.runtime import PRECISIONS, choose_device, undisturbed
from pencil.spelling import spelled

Document = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Learned:
    """What training gives back, all of it on the CPU."""

    model: nn.Module
    backbone: str
    preparation: Preparation
    distributions: NDArray[np.float32]
    corrected: NDArray[np.int64]
    quality: NDArray[np.float64]
    pred_probs: NDArray[np.float32]
    summary: dict[str, Any]


def train(dataset: Dataset, asked: Document, epochs: int | Sequence[int] | None, verbose: int) -> Learned:
    """Train on all examples of a dataset."""
    prepared = _plan(dataset, asked, epochs)
    with undisturbed():
        machine = choose_machine(prepared.settings.hardware)
        try_network(prepared, machine)
        engine, lines = build_engine(prepared, machine)
        progress = Lines(prepared.phases, verbose)
        for line in (*prepared.warnings, *lines):
            progress.note(spelled(line))
        engine.train(progress)
        table, believed = label_rows(engine, prepared, progress.history)
        made_with = Sittings.of(machine, prepared.settings).environment
        summary = summarise(engine, prepared, made_with, progress.history, table)
        pred_probs = mean_predictions(engine, prepared.dataset, table["id"].to_pylist())
    whole = believed.shares
    if believed.classes.shape[1]:
        whole = spread(believed.classes, believed.shares, dataset.num_classes)
    model = with_planes(engine.state.network.eval().to("cpu", torch.float32))
    name, preparation = prepared.settings.backbone, prepared.dataset.preparation
    return Learned(model, name, preparation, whole, believed.corrected, believed.quality, pred_probs, summary.fields())


def _plan(dataset: Dataset, asked: Document, epochs: int | Sequence[int] | None) -> Plan:
    return plan_epochs(partial(plan, dataset), plain_numbers(asked), read_epochs(epochs))


def probabilities(
    model: nn.Module, backbone: str, preparation: Preparation, inputs: NDArray[Any], device: str
) -> NDArray[Any]:
    """Return class probabilities [N, C] of raw inputs, by a network and its name."""
    where = choose_device(device)
    # In 64 bits a row's answer does not depend on which other rows are asked with it; images would take too long.
    exact = preparation.kind == "rows" and where.type == "cpu"
    precision = PRECISIONS["64-true" if exact else "32-true"]
    network = copy.deepcopy(model).to(where, precision.dtype)
    together = suits_pixels_together(backbone, preparation.kind, where)
    prepare = Prepare(preparation, seed=0, pixels_together=together).to(where)
    found: NDArray[Any] = predict(network, ArrayInputs(inputs), prepare, precision, where).numpy()
    return found
