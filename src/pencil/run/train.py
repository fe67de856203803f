"""Trains a plan in a run folder: from its start, or its newest checkpoint, to the end or until it is asked to stop."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from pencil.config import from_document, read_toml, to_document
from pencil.config.own_code import resume_command
from pencil.engine import Stopped
from pencil.errors import PencilError
from pencil.plugins import blamed
from pencil.results.checkpoint_store import CheckpointStore
from pencil.results.folder import RunFolder
from pencil.results.history import History
from pencil.results.log_file import LogFile
from pencil.run.finished.outcome import write_outcome
from pencil.run.finished.result import Result
from pencil.run.planning.moved import place_in_words
from pencil.run.planning.passing import PassingFolder
from pencil.run.planning.plan import Plan
from pencil.run.training.build import build_engine
from pencil.run.training.layout import with_planes
from pencil.run.training.machine import Machine
from pencil.run.training.restore import restore, with_its_table
from pencil.run.training.session import Progress, Session
from pencil.run.training.sittings import Sittings
from pencil.run.training.start import Start


class Interrupted(Exception):
    """The run was stopped on request and can be resumed."""

    def __init__(self, folder: Path, signal: int, way_on: str) -> None:
        super().__init__(f"stopped; {way_on}")
        self.folder, self.signal = folder, signal


def train(
    prepared: Plan,
    machine: Machine,
    folder: RunFolder,
    progress: Progress,
    kept: PassingFolder | None,
    start: Start | None = None,
) -> Result:
    history, checkpoints = History(folder.history), CheckpointStore(folder.checkpoint)
    checkpoint = checkpoints.load() if machine.processes.leader_says(checkpoints.exists()) else None
    prepared = prepared if checkpoint is None else with_its_table(prepared, checkpoint)
    engine, lines = build_engine(prepared, machine, folder.path / "table")
    leads, interval = machine.processes.leads, prepared.settings.hardware.checkpoint_seconds
    names, log = prepared.dataset.class_names, LogFile(folder.log) if leads else None
    sittings = Sittings.of(machine, prepared.settings)
    told: dict[str, Any] = {"classes": names, "options": prepared.settings.options}
    session = Session(history, checkpoints, progress, interval, sittings, writes=leads, log=log, **told)
    if prepared.noise_told:
        session.note(f"noise {prepared.settings.data.noise}: {prepared.noise_told}.")
    for line in (*prepared.warnings, *lines):
        session.note(line)
    if checkpoint is not None:
        restore(engine, checkpoint, checkpoints.path, session, prepared.settings.hardware)
        del checkpoint  # Its arrays may take as much memory as the run.
    else:
        if leads:
            history.restore(b"")
        if start is not None:
            session.note(start.line)
            start.apply(engine.state)
        # All that a start gives is in this first checkpoint: a resume needs neither it nor the run it came from.
        engine.save(session)
    if leads:
        folder.set_state("running")
    progress.started(engine.phases, engine.epoch)
    with session.listening():
        try:
            with blamed(prepared.settings.method):
                engine.train(session)
        except Stopped:
            if leads:
                folder.set_state("stopped")
            raise Interrupted(folder.path, session.received, _way_on(prepared, folder, kept)) from None
        except PencilError:
            # A disk that is full has no room for this either; the line of the error is what counts.
            with suppress(PencilError):
                if leads:
                    folder.set_state("stopped")
            raise
    if leads:
        folder.unseal(*folder.description, *folder.outcome)
        with blamed(prepared.settings.method):
            lost = write_outcome(engine, prepared, sittings.environment, folder, history.read())
        session.report_lost(lost)
    if log is not None:
        log.close()
    if leads:
        folder.seal(folder.config, *folder.description, *folder.outcome)
        folder.set_state("finished")
    machine.processes.leader_says(True)  # The others wait for what the leading one has written.
    return Result(with_planes(engine.state.network.eval()), folder.path, kept, prepared.dataset.terms)


def _way_on(prepared: Plan, folder: RunFolder, kept: PassingFolder | None) -> str:
    """Say how a stopped run goes on; the shell cannot where nothing of it is kept, or it was given data in Python."""
    if kept is not None:
        return "nothing is kept of a run without out, so begin again."
    if prepared.own_network is not None or prepared.settings.data.source.startswith("<"):
        return f"go on with: pencil.fit(…, out={str(folder.path)!r}, resume=True), and what it was given before."
    place = place_in_words(prepared.settings.data, from_document(read_toml(folder.config)), folder)
    return f"go on with: {resume_command(folder.path, to_document(prepared.settings))}{place}"
