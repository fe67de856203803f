"""Runs the trials that have no record yet, and writes a record as soon as a run is finished."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pencil import data, recipes
from pencil.config import DataSettings, from_document, read_toml, to_document
from pencil.errors import PencilError
from pencil.reproduce.figures import needs_series
from pencil.reproduce.record import is_recorded, version_of_run, write_record
from pencil.reproduce.trial import Trial
from pencil.results.read import read_run
from pencil.run.plan import differing
from pencil.run.queue import Outcome, run_jobs, state_of

Tell = Callable[[str], None]


def pending(trials: Iterable[Trial], reference: Path, *, force: bool) -> list[Trial]:
    """Return the trials that have no record."""
    return [trial for trial in trials if force or not is_recorded(trial, reference)]


def conduct(
    trials: Sequence[Trial], *, out: Path, reference: Path, parallel: int, download: bool, tell: Tell
) -> list[Outcome]:
    """Run trials, several at a time; stopped runs go on, finished ones only get their record."""
    for trial in trials:
        _refuse_other_run(trial, out)
    if all(state_of(trial.folder(out)) == "finished" for trial in trials):
        download = False
    else:
        for settings in {repr(found): found for found in map(_where, trials)}.values():
            data.read(DataSettings(**settings), download=download)
    collector = _Collector(trials, out, reference, at_once=min(parallel, len(trials)))

    def noted(line: str) -> None:
        tell(line)
        collector.collect()

    try:
        return run_jobs([trial.job(out) for trial in trials], parallel=parallel, tell=noted)
    finally:
        collector.collect()


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
            made_with = version_of_run(wanted.recipe, read_run(trial.folder(out)).result)
            if made_with != recipes.version(wanted.recipe):
                raise PencilError(
                    f"the run in {trial.folder(out)} was made with version {made_with} of the recipe {wanted.recipe}, "
                    f"which has changed since; give another folder with --out, or remove that one."
                )


def _where(trial: Trial) -> dict[str, Any]:
    """Return which data are to be fetched and decoded, once, before several runs would do so at the same time."""
    asked = trial.document["data"]
    return {name: asked[name] for name in ("source", "root", "options") if name in asked}


def threads_for(parallel: int) -> int:
    """Return how many threads each of several runs may use on this machine's CPU."""
    return max(1, (os.cpu_count() or 1) // parallel)
