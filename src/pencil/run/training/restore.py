"""Goes back to the newest whole checkpoint of a run."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from pencil.config.settings import MOST_THREADS, HardwareSettings
from pencil.engine import Engine
from pencil.errors import PencilError
from pencil.results.checkpoint_store import Checkpoint
from pencil.run.planning.plan import Plan
from pencil.run.training.example_table import kind_of_state
from pencil.run.training.session import HISTORY, Session

_OTHER = (KeyError, ValueError, TypeError, IndexError, RuntimeError, OverflowError, AttributeError)
"""What the checkpoint of another run, or of nobody's, comes to."""


def with_its_table(plan: Plan, checkpoint: Checkpoint) -> Plan:
    """Plan the kind of example table that a checkpoint has, whatever the free memory of now would choose."""
    settings, kind = plan.settings, kind_of_state(checkpoint.tensors)
    if settings.hardware.table not in ("auto", kind):
        raise PencilError(
            f"the run keeps its labels in another kind of table ({kind}) than hardware.table is now"
            f" ({settings.hardware.table}); resume without it."
        )
    return replace(plan, settings=replace(settings, hardware=replace(settings.hardware, table=kind)))


def restore(engine: Engine, checkpoint: Checkpoint, place: Path, session: Session, hardware: HardwareSettings) -> None:
    """Give the engine and the history the state of a checkpoint; one that does not fit the run is refused."""
    for warning in checkpoint.warnings:
        session.note(warning)
    try:
        engine.restore(checkpoint.tensors, checkpoint.meta)
        _restore_threads(checkpoint.meta, hardware)
        edited = session.sittings.go_on(checkpoint.meta, engine.epoch)
        history = checkpoint.tensors[HISTORY].tobytes()
    except _OTHER as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise PencilError(
            f"the checkpoint in {place} does not fit this run ({reason[:200]}); start it again with another --out."
        ) from error
    for name in edited:
        session.note(f"{name} has changed since the run was started; it goes on with the code as it is now.")
    if session.writes:
        session.history.restore(history)


def _restore_threads(meta: Mapping[str, Any], hardware: HardwareSettings) -> None:
    """Use as many threads as before, so that the result is the same to the bit, unless others were asked for."""
    if not hardware.threads and 0 < int(meta.get("threads", 0)) <= MOST_THREADS:
        torch.set_num_threads(int(meta["threads"]))
