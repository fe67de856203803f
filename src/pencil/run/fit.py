"""Trains: from data and settings to a finished run folder, or on from where a run stopped."""

import dataclasses
import inspect
import os
import shlex
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from pencil.backbones import name_of
from pencil.config import Settings, from_document, merge, plain_numbers, read_toml, to_document, write_toml
from pencil.config.own_code import as_document, as_run_names, code_in
from pencil.data import as_source
from pencil.data.hugging_face import is_hugging_face
from pencil.errors import NoSuchSource, PencilError, did_you_mean
from pencil.results.atomic import write_atomic
from pencil.results.checkpoint_store import CheckpointStore
from pencil.results.folder import RunFolder
from pencil.run.finished.outcome import write_description
from pencil.run.finished.result import Result
from pencil.run.planning.inherit import open_parent, plan_from
from pencil.run.planning.lengths import phase_lengths, refuse_other_total
from pencil.run.planning.moved import in_its_place, new_place, without_place
from pencil.run.planning.passing import PassingFolder
from pencil.run.planning.plan import Plan, plan
from pencil.run.planning.preparation import normalised_as_by
from pencil.run.planning.refuse import (
    refuse_idle_recipe,
    refuse_labels_by_name,
    refuse_missing_data,
    refuse_no_group,
    refuse_other_data,
    refuse_other_settings,
    refuse_place_in_data,
    refuse_unnamed_code,
)
from pencil.run.planning.total import plan_epochs, read_epochs
from pencil.run.train import train
from pencil.run.training.budget import lengths_for
from pencil.run.training.example_table import try_table
from pencil.run.training.machine import choose_machine
from pencil.run.training.session import Progress, Silent
from pencil.run.training.start import read_start
from pencil.run.training.try_network import try_network
from pencil.runtime import is_leader, undisturbed
from pencil.spelling import spelled

Document = Mapping[str, Any]


@undisturbed()
def fit(
    source: Any = None,
    labels: Any = None,
    *,
    out: str | Path | None = None,
    settings: Document | None = None,
    epochs: int | Sequence[int] | None = None,
    budget: float | None = None,
    raw: bool = False,
    resume: bool = False,
    start_from: str | os.PathLike[str] | None = None,
    download: bool = False,
    progress: Progress | None = None,
    cache_dir: Path | None = None,
    **named: Any,
) -> Result:
    """Train on noisy labels and return the network and the corrected labels.

    `source` is a path or a source's name, an array with `labels`, a data frame with `labels` or the name of the column
    that holds them, a torch dataset of (x, y), a Hugging Face dataset, whose column of labels `labels` may name, or a
    `pencil.data.Dataset`. With `raw`, inputs
    are neither rows nor images, but numbers of any shape that the network gets as they are. `backbone` is the name of a
    network, a torch.nn.Module, whose weights training starts from, or a function (spec, num_classes) that makes one.
    `settings` is a nested dictionary in the shape of config.toml; method, recipe, seed, noise, held_out, root, device
    and precision can be given by name. With `resume` the run in `out` goes on; where its data has moved, `source`,
    `root` or `data.labels` says where it lies now. `start_from` is a finished run, its folder or what `fit` returned:
    the new one begins with its settings, weights and learned labels, and what people decided in review is locked.
    Without `out` the run folder is gone with the result, or when Python ends. `epochs` are one number for each phase,
    or a total that phases share in proportion to their usual lengths; `budget` is the time training may take, in
    seconds, shared in the same way.
    Columns that are left out and the like, and a network that knows too little, are told as warnings.
    """
    if labels is not None:
        refuse_labels_by_name(source, labels)
    refuse_no_group(settings)
    refuse_idle_recipe(settings or {}, named.get("recipe"), "the settings")
    options: dict[str, Any] = {"raw": True} if raw else {}
    if labels is not None and is_hugging_face(source):
        options["label"] = labels
    elif labels is not None:
        source = (source, labels)
    asked = plain_numbers(merge(settings or {}, _named(named), {"data": {"options": options}} if options else {}))
    epochs = read_epochs(epochs)
    alone, progress = progress is None, progress or Silent()
    if budget is not None and (resume or epochs is not None):
        raise PencilError("--budget chooses the lengths of the phases; leave --epochs and --resume out.")
    if resume and start_from is not None:
        raise PencilError("--from starts a new run and --resume goes on with one; give one of them.")
    if resume:
        return _resume(source, asked, out, progress, epochs=epochs, download=download, cache_dir=cache_dir)
    kept = PassingFolder() if out is None else None
    path = kept.path if kept else Path(out if isinstance(out, os.PathLike) else str(out))
    if out is not None and is_leader():
        RunFolder.check_free(path)
    parent = None if start_from is None else open_parent(Path(start_from))
    if out is not None:
        refuse_place_in_data(path, source, asked, parent)
    start_plan = plan if parent is None else partial(plan_from, parent)
    planned = partial(start_plan, source, download=download, cache_dir=cache_dir)
    prepared = plan_epochs(planned, asked, epochs)
    machine = choose_machine(prepared.settings.hardware)
    if budget is not None:
        lengths = lengths_for(prepared, machine, budget)
        progress.note(f"epochs of the phases in {budget:g} seconds: {', '.join(map(str, lengths))}.")
        prepared = planned(asked, epochs=lengths)
    if alone:
        _warn(prepared.warnings)
    try_table(prepared, machine)
    try_network(prepared, machine)  # One that cannot be made or does not fit must fail before anything is written.
    start = None if parent is None else read_start(parent, prepared)
    document = write_toml(to_document(prepared.settings)).encode()  # It, too, may hold what no file can.
    if not machine.processes.leads:
        return train(prepared, machine, RunFolder(path), Silent(), kept, start)
    folder = RunFolder.create(path, parent=start.name if start else None)
    with folder.lock():
        write_atomic(folder.config, document)
        write_description(prepared, folder)
        if start is not None:
            start.hand_on(folder)
        folder.seal(folder.config, *folder.description)
        result = train(prepared, machine, folder, progress, kept, start)
    if alone:
        _warn(filter(None, map(result.summary.get, ("caution", "hint"))))
    return result


def _warn(lines: Iterable[str]) -> None:
    """Tell who called `fit`, and asked for no other display, what a person should know."""
    for line in lines:
        warnings.warn(spelled(line), stacklevel=4)


def _named(named: dict[str, Any]) -> Document:
    """Sort settings given by name into their groups."""
    groups = {"noise": "data", "root": "data", "held_out": "data", "device": "hardware", "precision": "hardware"}
    document: dict[str, Any] = {}
    known = {*groups, *(field.name for field in dataclasses.fields(Settings))}
    for key, value in named.items():
        if key not in known:
            arguments = {*known, *inspect.signature(fit).parameters} - {"named", "progress", "cache_dir"}
            raise PencilError(f'there is no argument or setting "{key}".{did_you_mean(key, arguments)}')
        if isinstance(value, torch.device):
            value = str(value)
        document = merge(document, {groups[key]: {key: value}} if key in groups else {key: value})
    return document


def _resume(
    source: Any,
    asked: Document,
    out: str | Path | None,
    progress: Progress,
    *,
    epochs: int | Sequence[int] | None,
    download: bool,
    cache_dir: Path | None,
) -> Result:
    if out is None:
        raise PencilError("--resume needs the run's folder; give it with --out.")
    folder = RunFolder.open(out)
    unmade = folder.status().parent is not None and not CheckpointStore(folder.checkpoint).exists()
    if unmade or not folder.config.exists():
        raise PencilError(f"the run in {out} was killed before it began; remove the folder and start again.")
    saved = read_toml(folder.config)
    if isinstance(source, (str, Path)):
        asked = merge(asked, {"data": {"source": as_source(source)}})
    own_network = asked.get("backbone")
    if own_network is not None:
        asked = {**asked, "backbone": name_of(own_network)}
    refuse_unnamed_code(saved, asked, folder)
    refuse_missing_data(source, saved, folder.path)
    if isinstance(epochs, int):
        refuse_other_total(saved, epochs)
    elif epochs is not None:
        lengths = phase_lengths(str(saved["method"]), epochs)
        asked = merge(asked, {"phases": {name: {"epochs": count} for name, count in lengths.items()}})
    place = new_place(saved, asked)
    refuse_other_settings(saved, as_run_names(without_place(asked, place), saved), folder)
    hardware = merge(saved.get("hardware", {}), asked.get("hardware", {}))
    given = None if source is None or isinstance(source, (str, Path)) else source
    settings = merge(
        to_document(in_its_place(from_document(saved), folder, place)),
        {"hardware": hardware},
        as_document(code_in(asked)),
        {} if own_network is None else {"backbone": own_network},
    )
    try:
        prepared = plan(given, settings, download=download, cache_dir=cache_dir, complete=True)
    except NoSuchSource as error:
        way = f"pencil train SOURCE --resume --out {shlex.quote(str(folder.path))}"
        raise NoSuchSource(str(error) if place else f"{error} Where the data has moved, say where: {way}") from None
    refuse_other_data(prepared, folder, place)
    prepared = replace(prepared, dataset=normalised_as_by(folder, prepared.dataset))
    if not is_leader():
        if folder.status().state == "finished":
            return _finished(prepared, folder)
        return train(prepared, choose_machine(prepared.settings.hardware), folder, Silent(), None)
    with folder.lock():
        progress.note(
            "resuming with the run's own settings; only those of the hardware (device, workers, threads) may differ."
        )
        if folder.status().state == "finished":
            return _finished(prepared, folder)
        return train(prepared, choose_machine(prepared.settings.hardware), folder, progress, None)


def _finished(prepared: Plan, folder: RunFolder) -> Result:
    from pencil.run.finished.network import load_network

    network = load_network(folder, prepared.settings, backbone=prepared.network)
    return Result(network, folder.path, terms=prepared.dataset.terms)
