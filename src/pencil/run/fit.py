"""Trains: from data and settings to a finished run folder, or on from where a run stopped."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pencil.config import from_document, merge, read_toml, to_document, write_toml
from pencil.engine import Stopped
from pencil.errors import PencilError
from pencil.results.atomic import write_atomic
from pencil.results.checkpoint_store import CheckpointStore
from pencil.results.folder import RunFolder
from pencil.results.history import History
from pencil.run.build import Machine, build_engine, choose_machine
from pencil.run.outcome import write_description, write_outcome
from pencil.run.plan import Plan, differing, phase_lengths, plan
from pencil.run.result import Result
from pencil.run.session import Progress, Session, Silent
from pencil.runtime import is_leader

Document = Mapping[str, Any]


class Interrupted(Exception):
    """The run was stopped on request and can be resumed."""

    def __init__(self, folder: Path, signal: int) -> None:
        super().__init__(f"stopped; go on with: pencil train --resume --out {folder}")
        self.folder, self.signal = folder, signal


def fit(
    source: Any = None,
    labels: Any = None,
    *,
    out: str | Path | None = None,
    settings: Document | None = None,
    epochs: Sequence[int] | None = None,
    resume: bool = False,
    download: bool = False,
    progress: Progress | None = None,
    cache_dir: Path | None = None,
    **named: Any,
) -> Result:
    """Train on noisy labels and return the network and the corrected labels.

    `source` is a path or a source's name, an array (with `labels`), a torch dataset of (x, y) or a
    `pencil.data.Dataset`. `settings` is a nested dictionary in the shape of config.toml; method, recipe, backbone,
    seed, noise, device and precision can be given by name. With `resume` the run in `out` goes on.
    """
    if labels is not None:
        source = (source, labels)
    asked = merge(settings or {}, _named(named))
    progress = progress or Silent()
    if resume:
        return _resume(source, asked, out, progress, epochs=epochs, download=download, cache_dir=cache_dir)
    kept = tempfile.TemporaryDirectory(prefix="pencil-") if out is None else None
    path = Path(kept.name) if kept else Path(str(out))
    if out is not None and is_leader():
        RunFolder.check_free(path)
    prepared = plan(source, asked, epochs=epochs, download=download, cache_dir=cache_dir)
    machine = choose_machine(prepared.settings.hardware)
    prepared.new_network()  # A network that cannot be made must fail before anything is written.
    if not machine.processes.leads:
        return _train(prepared, machine, RunFolder(path), Silent(), kept)
    folder = RunFolder.create(path)
    with folder.lock():
        document = to_document(prepared.settings)
        write_atomic(folder.config, write_toml(document).encode())
        write_description(prepared, folder)
        return _train(prepared, machine, folder, progress, kept)


def _named(named: dict[str, Any]) -> Document:
    """Sort settings given by name into their groups."""
    groups = {"noise": "data", "root": "data", "held_out": "data", "device": "hardware", "precision": "hardware"}
    document: dict[str, Any] = {}
    for key, value in named.items():
        document = merge(document, {groups[key]: {key: value}} if key in groups else {key: value})
    return document


def _resume(
    source: Any,
    asked: Document,
    out: str | Path | None,
    progress: Progress,
    *,
    epochs: Sequence[int] | None,
    download: bool,
    cache_dir: Path | None,
) -> Result:
    if out is None:
        raise PencilError("--resume needs the run's folder; give it with --out.")
    folder = RunFolder.open(out)
    if not folder.config.exists():
        raise PencilError(f"the run in {out} was killed before it began; remove the folder and start again.")
    saved = read_toml(folder.config)
    if isinstance(source, (str, Path)):
        asked = merge(asked, {"data": {"source": str(source)}})
    _refuse_unnamed_code(saved, asked, folder)
    if epochs is not None:
        asked = merge(asked, {"phases": phase_lengths(str(saved["method"]), epochs)})
    _refuse_other_settings(saved, asked, folder)
    hardware = merge(saved.get("hardware", {}), asked.get("hardware", {}))
    given = None if source is None or isinstance(source, (str, Path)) else source
    prepared = plan(given, merge(saved, {"hardware": hardware}), download=download, cache_dir=cache_dir)
    _refuse_other_data(prepared, folder)
    if not is_leader():
        return _train(prepared, choose_machine(prepared.settings.hardware), folder, Silent(), None)
    with folder.lock():
        progress.note(
            "resuming with the run's own settings; only those of the hardware (device, workers, threads) may differ."
        )
        if folder.status().state == "finished":
            return _finished(prepared, folder)
        return _train(prepared, choose_machine(prepared.settings.hardware), folder, progress, None)


def _refuse_unnamed_code(saved: Document, asked: Document, folder: RunFolder) -> None:
    """Code that a run folder names is imported only where the user names it too."""
    places = {"method": "--method", "backbone": "--backbone", "source": "the source", "noise": "--noise"}
    for key, option in places.items():
        before, now = (layer.get(key) or layer.get("data", {}).get(key) for layer in (saved, asked))
        if ".py:" in str(before) and now != before:
            raise PencilError(
                f"the run in {folder.path} uses code of its own; if you trust it, name it again: {option} {before}"
            )


def _refuse_other_settings(saved: Document, asked: Document, folder: RunFolder) -> None:
    other = differing(from_document(saved), asked)
    precision = asked.get("hardware", {}).get("precision")
    if precision not in (None, "", saved.get("hardware", {}).get("precision")):
        other.append("hardware.precision")
    if other:
        raise PencilError(
            f"the run in {folder.path} was started with other settings ({', '.join(other)}); resume without them, or "
            f"start a new run with another --out."
        )


def _refuse_other_data(prepared: Plan, folder: RunFolder) -> None:
    from pencil.results.documents import read_object

    before = read_object(folder.split).get("fingerprint") if folder.split.exists() else None
    now = prepared.dataset.facts.get("fingerprint")
    if before and now != before:
        raise PencilError(
            f"the data has changed since the run in {folder.path} was started; restore it, or start a new run."
        )


def _train(
    prepared: Plan,
    machine: Machine,
    folder: RunFolder,
    progress: Progress,
    kept: tempfile.TemporaryDirectory[str] | None,
) -> Result:
    engine, lines = build_engine(prepared, machine, folder.path / "table")
    history, checkpoints = History(folder.history), CheckpointStore(folder.checkpoint)
    for line in (*prepared.warnings, *lines):
        progress.note(line)
    leads, interval = machine.processes.leads, prepared.settings.hardware.checkpoint_seconds
    session = Session(history, checkpoints, progress, interval, writes=leads)
    if machine.processes.leader_says(checkpoints.exists()):
        checkpoint = checkpoints.load()
        for warning in checkpoint.warnings:
            progress.note(warning)
        engine.restore(checkpoint.tensors, checkpoint.meta)
        _restore_threads(checkpoint.meta, prepared, progress)
    else:
        engine.save(session)
    if leads:
        history.truncate_to(engine.epoch)
        folder.set_state("running")
    progress.started(prepared.phases, engine.epoch)
    with session.listening():
        try:
            engine.train(session)
        except Stopped:
            if leads:
                folder.set_state("stopped")
            raise Interrupted(folder.path, session.received) from None
    write_outcome(engine, prepared, machine, folder, history.read() if leads else [])
    if leads:
        folder.set_state("finished")
    return Result(engine.state.model.eval(), folder.path, kept)


def _restore_threads(meta: Mapping[str, Any], prepared: Plan, progress: Progress) -> None:
    """Use as many threads as before, so that the result is the same to the bit, unless others were asked for."""
    import torch

    if not prepared.settings.hardware.threads and int(meta.get("threads", 0)) > 0:
        torch.set_num_threads(int(meta["threads"]))


def _finished(prepared: Plan, folder: RunFolder) -> Result:
    from pencil.run.predict import load_network

    return Result(load_network(folder, prepared.settings, backbone=prepared.settings.backbone), folder.path)
