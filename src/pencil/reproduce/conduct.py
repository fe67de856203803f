"""Runs the trials that have no record yet, and writes a record as soon as a run is finished."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pencil import backbones, data, recipes
from pencil.allowance import processors
from pencil.config import DataSettings, from_document, read_toml, to_document
from pencil.errors import PencilError
from pencil.reproduce.again import made_again
from pencil.reproduce.figures import needs_series
from pencil.reproduce.record import version_of_run, write_record
from pencil.reproduce.recorded import is_recorded
from pencil.reproduce.trial import Trial
from pencil.results.read import read_run
from pencil.run.planning.plan import differing
from pencil.run.queue import Outcome, run_jobs, state_of
from pencil.run.training.sittings import changed, own_code
from pencil.runtime import choose_device

Tell = Callable[[str], None]


def pending(trials: Iterable[Trial], reference: Path, *, force: bool) -> list[Trial]:
    """Return the trials that have no record; all of them where records are to be replaced."""
    return [trial for trial in trials if force or not is_recorded(trial, reference)]


def conduct(
    trials: Sequence[Trial],
    *,
    out: Path,
    reference: Path,
    parallel: int,
    download: bool,
    tell: Tell,
    force: bool = False,
) -> list[Outcome]:
    """Run trials, several at a time; stopped runs go on, finished ones only get their record, unless forced."""
    done = [trial for trial in trials if state_of(trial.folder(out)) == "finished"]
    for trial in trials:
        if not (force and trial in done):
            _refuse_other_run(trial, out)
    _refuse_no_folder(reference)
    if force or len(done) < len(trials):
        _make_ready(trials, download=download)
    collector = _Collector(trials, out, reference, at_once=min(parallel, len(trials)))

    def noted(line: str) -> None:
        tell(line)
        # What cannot be written is tried again, and told, at the end: the other runs go on.
        with contextlib.suppress(OSError, PencilError):
            collector.collect()

    with made_again([trial.folder(out) for trial in trials] if force else []):
        try:
            return run_jobs([trial.job(out) for trial in trials], parallel=parallel, tell=noted)
        finally:
            collector.collect()


def _make_ready(trials: Sequence[Trial], *, download: bool) -> None:
    """Refuse what every run would refuse, and fetch and decode data once, before several runs would do so at once."""
    places: dict[str, list[Trial]] = {}
    for trial in trials:
        choose_device(trial.settings.hardware.device)
        _refuse_without_weights(trial)
        places.setdefault(repr(_where(trial)), []).append(trial)
    for alike in places.values():
        found = data.read(DataSettings(**_where(alike[0])), download=download)
        for trial in alike:
            if not trial.settings.backbone:
                backbones.check(found.default_backbone, trial.settings.backbone_options)


def _refuse_without_weights(trial: Trial) -> None:
    """A network that starts from scratch must not pass for one that the paper started from published weights."""
    if trial.lacks_weights:
        raise PencilError(
            f"{trial.study.name} starts {trial.study.backbone} from weights that were trained on ImageNet; give their "
            f"file with --weights, or start from scratch with --set backbone_options.weights=."
        )


class _Collector:
    """Writes the records of runs that have finished since it last looked."""

    def __init__(self, trials: Sequence[Trial], out: Path, reference: Path, *, at_once: int) -> None:
        self.waiting = list(trials)
        self.out, self.reference, self.at_once = out, reference, at_once
        self.lock = threading.Lock()

    def collect(self) -> None:
        with self.lock:
            done = [trial for trial in self.waiting if state_of(trial.folder(self.out)) == "finished"]
            for trial in done:
                write_record(trial, self.out, self.reference, series=needs_series(trial), at_once=self.at_once)
            self.waiting = [trial for trial in self.waiting if trial not in done]


def _refuse_no_folder(reference: Path) -> None:
    """Refuse a place where no record can be written, before anything is run."""
    for place in (reference, *reference.parents):
        if place.exists() and not place.is_dir():
            raise PencilError(f"{place} is no folder, so no record can be kept there; give another --reference.")


def _refuse_other_run(trial: Trial, out: Path) -> None:
    """A run of other settings, or of a recipe that has changed since, must not pass for this trial."""
    config = trial.folder(out) / "config.toml"
    if config.is_file():
        saved, wanted = from_document(read_toml(config)), trial.settings
        # Both ways: what only one of the two sets makes another run as well.
        found = {*differing(saved, to_document(wanted)), *differing(wanted, to_document(saved))} - {"data.root"}
        other = sorted(found - ({"backbone"} if not wanted.backbone else set()))
        if other:
            raise PencilError(
                f"the run in {trial.folder(out)} was started with other settings ({', '.join(other)}); give another "
                f"folder with --out."
            )
        if state_of(trial.folder(out)) == "finished":
            _refuse_changed(trial, trial.folder(out))


def _refuse_changed(trial: Trial, folder: Path) -> None:
    """What a finished run was made with, the recipe and a user's own files, must be what is there now."""
    result, recipe = read_run(folder).result, trial.settings.recipe
    made_with = version_of_run(recipe, result)
    if made_with != recipes.version(recipe):
        raise PencilError(
            f"the run in {folder} was made with version {made_with} of the recipe {recipe}, which has changed since; "
            f"give another folder with --out, or remove that one."
        )
    edited = changed(result["environment"].get("own_code", {}), own_code(trial.document))
    if edited:
        raise PencilError(
            f"the run in {folder} was made with other code in {', '.join(edited)}; restore it, give another folder "
            f"with --out, or remove that one."
        )


def _where(trial: Trial) -> dict[str, Any]:
    """Return which data are to be fetched and decoded."""
    asked = trial.document["data"]
    return {name: asked[name] for name in ("source", "root", "options") if name in asked}


def threads_for(parallel: int) -> int:
    """Return how many threads each of several runs may use on this machine's CPU."""
    return max(1, processors() // parallel)
