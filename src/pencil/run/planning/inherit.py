"""The settings of a run that starts from another: its parent's, unless the user gives others."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pencil.config import from_document, merge, read_toml, to_document
from pencil.config.own_code import resume_command
from pencil.data import as_source
from pencil.errors import NoSuchSource, PencilError
from pencil.results.read import Run, read_run
from pencil.run.planning.home import at_home
from pencil.run.planning.plan import Plan, one_spelling, plan
from pencil.run.planning.preparation import normalised_as_by
from pencil.run.planning.refuse import refuse_missing_data, refuse_unnamed_code

Document = Mapping[str, Any]


def open_parent(run: str | Path) -> Run:
    """Open a run to start from; it must be finished."""
    parent = read_run(run)
    if parent.status.state != "finished":
        command = resume_command(run, read_toml(parent.folder.config))
        raise PencilError(f"the run in {run} is not finished; go on with it first: {command}")
    return parent


def plan_from(
    parent: Run,
    source: Any,
    asked: Document,
    *,
    epochs: Sequence[int] | None = None,
    steps: Document | None = None,
    download: bool = False,
    cache_dir: Path | None = None,
) -> Plan:
    """Plan a run with the parent's settings that goes straight on to learning labels."""
    if isinstance(source, (str, Path)):
        asked = merge(asked, {"data": {"source": as_source(source)}})
    saved = _saved(parent, asked)
    refuse_missing_data(source, merge(saved, asked), parent.folder.path)
    refuse_unnamed_code(merge(saved, asked), asked, parent.folder)
    document = merge(one_spelling(saved, asked), asked)
    lengths: dict[str, Any] = {"epochs": epochs, "steps": steps, "mine": asked}
    try:
        prepared = plan(source, document, **lengths, download=download, cache_dir=cache_dir)
    except NoSuchSource as error:
        if source is not None:
            raise
        command = f"pencil train SOURCE --from {shlex.quote(str(parent.folder.path))}"
        raise NoSuchSource(f"{error} Where the data has moved, give it again: {command}") from None
    prepared = replace(prepared, dataset=normalised_as_by(parent.folder, prepared.dataset))
    return prepared if epochs is not None else _skip_ahead(prepared, asked)


def _saved(parent: Run, asked: Document) -> Document:
    """Return the parent's settings, less those that do not go with what the user asked for."""
    settings = from_document(read_toml(parent.folder.config))
    saved: Document = to_document(at_home(settings, parent.folder.homes()))
    if any(asked.get(key) not in (None, "", saved.get(key)) for key in ("method", "recipe")):
        # Another method or recipe has phases, options and rates of its own.
        saved = {k: v for k, v in saved.items() if k not in ("options", "phases", "optimizer", "teaching", "recipe")}
    data = saved.get("data", {})
    if data.get("noise") and asked.get("data", {}).get("noise") in (None, "", data["noise"]):
        # The same noise means the same wrong labels, also where the run's seed is another.
        saved = {**saved, "data": {"noise_seed": settings.seed, **data}}
    # The parent's weights replace those that it began with, whose file need not be there any more.
    options = {k: v for k, v in saved.get("backbone_options", {}).items() if k != "weights"}
    return {**saved, "backbone_options": options}


def _skip_ahead(prepared: Plan, asked: Document) -> Plan:
    """Leave out the phases before labels are learned, unless their length was asked for."""
    learning = [phase.rule.moves and phase.track_predictions for phase in prepared.phases]
    before = prepared.phases[: learning.index(True)] if any(learning) else ()
    wanted = {name for name, phase in asked.get("phases", {}).items() if "epochs" in phase}
    skipped = {phase.name for phase in before} - wanted
    phases = {k: replace(v, epochs=0) if k in skipped else v for k, v in prepared.settings.phases.items()}
    settings = replace(prepared.settings, phases=phases)
    return replace(prepared, settings=settings, phases=prepared.method.phases(phases))
