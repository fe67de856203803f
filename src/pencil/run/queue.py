"""Runs many configurations as separate processes, several at a time; each has its own run folder."""

import contextlib
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from pencil.config import write_toml
from pencil.errors import PencilError
from pencil.results.atomic import write_atomic
from pencil.results.folder import RunFolder
from pencil.results.lock import is_held, refuse_held
from pencil.runtime import VISIBLE, shared_gpu, visible_gpus

KILLED = "it was killed (SIGKILL), as happens where memory runs out; the same command goes on with it."
OTHERS = "another process runs it already; the same command, called again later, goes on."


@dataclass(frozen=True)
class Job:
    """One run: its folder and its settings, in the shape of config.toml."""

    name: str
    folder: Path
    document: Mapping[str, Any]

    @property
    def log(self) -> Path:
        return self.folder.with_name(self.folder.name + ".log")

    @property
    def settings(self) -> Path:
        """Where what was asked for is kept, beside the folder."""
        return self.folder.with_name(self.folder.name + ".toml")


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    job: Job
    state: str
    """finished, failed, stopped, or skipped: it was finished before."""
    reason: str = ""
    """Why a failed job failed, mostly the last line of its log."""


class _Children:
    """The processes of a queue that run."""

    def __init__(self) -> None:
        self._lock, self._stopping = threading.Lock(), False
        self._running: set[subprocess.Popen[bytes]] = set()

    def wait_for(self, child: subprocess.Popen[bytes]) -> int:
        """Return how a process ends; one that begins while the others are being stopped is stopped as well."""
        with self._lock:
            self._running.add(child)
            if self._stopping:
                child.terminate()
        code = child.wait()
        with self._lock:
            self._running.discard(child)
        return code

    def stop(self) -> None:
        """Let all of them save and stop."""
        with self._lock:
            self._stopping = True
            for child in self._running:
                child.terminate()


def run_jobs(jobs: Sequence[Job], *, parallel: int, tell: Callable[[str], None]) -> list[Outcome]:
    """Run jobs, `parallel` at a time; finished ones are skipped, stopped ones go on, a failed one stops no other."""
    if parallel < 1:
        raise PencilError(f"--parallel is {parallel}; give at least 1.")
    waiting: SimpleQueue[Job] = SimpleQueue()
    for job in jobs:
        waiting.put(job)
    outcomes: dict[str, Outcome] = {}
    children = _Children()
    gpus, at_once = visible_gpus(), min(parallel, sum(not _is_finished(job) for job in jobs))

    # No thread is joined: up to Python 3.12 one is taken for ended where an exception cuts its join off.
    ended, begun = [threading.Event() for _ in range(max(at_once, 1))], list[threading.Event]()

    def work(place: int, shared: Mapping[str, str]) -> None:
        begun.append(ended[place])
        gpu = gpus[place % len(gpus)] if len(gpus) > 1 else None
        try:
            while True:
                job = waiting.get_nowait()
                environment = {**_environment(), **shared, **_placed(job, gpu)}
                outcomes[job.name] = outcome = _run(job, environment, children, tell)
                tell(f"{job.name}: {outcome.state}{': ' + outcome.reason if outcome.reason else ''}")
        except Empty:
            pass
        finally:
            ended[place].set()

    of_one_gpu = math.ceil(at_once / max(len(gpus), 1))
    with shared_gpu(of_one_gpu) as shared:
        try:
            for place in range(len(ended)):
                threading.Thread(target=work, args=[place, shared], daemon=True).start()
            for event in ended:
                event.wait()
        except BaseException:
            # Ctrl-C, or whatever else ends this process: the children save and stop before it goes. A thread that
            # begins only now finds nothing to do.
            _empty(waiting)
            children.stop()
            for event in list(begun):
                event.wait()
            raise
    return [outcomes[job.name] for job in jobs if job.name in outcomes]


def _run(job: Job, environment: Mapping[str, str], children: _Children, tell: Callable[[str], None]) -> Outcome:
    try:
        state = state_of(job.folder)
        if state == "finished":
            return Outcome(job, "skipped")
        # Who holds it writes into the same log, so a child's own refusal would not be found there.
        refuse_held(RunFolder(job.folder).lock_file)
        tell(f"{job.name}: {'going on' if state else 'starting'}")
        command = [sys.executable, "-m", "pencil", "train", "--out", str(job.folder)]
        # The settings are given again to a run that goes on: they name code it may use, and must not have changed.
        command += ["--config", str(_write_settings(job)), *(["--resume"] if state else [])]
        with job.log.open("ab") as log:
            child = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)
            code = children.wait_for(child)
    except (OSError, PencilError) as error:
        return Outcome(job, "failed", str(error))
    if code == 0:
        return Outcome(job, "finished")
    if code in (130, 143, -2, -15):
        return Outcome(job, "stopped", _last_line(job.log))
    if code == PencilError.exit_code and is_held(RunFolder(job.folder).lock_file):
        # One that began at the same moment has it. Both write into one log, and what this one said is for `train`.
        return Outcome(job, "failed", OTHERS)
    # Who is killed says nothing more: its last line only tells how far it came.
    return Outcome(job, "failed", KILLED if code == -9 else _last_line(job.log))


def state_of(folder: Path) -> str | None:
    """Return a run folder's state, None where there is no run."""
    return RunFolder.open(folder).status().state if (folder / "status.json").is_file() else None


def _is_finished(job: Job) -> bool:
    with contextlib.suppress(PencilError, OSError):
        return state_of(job.folder) == "finished"
    return False


def _write_settings(job: Job) -> Path:
    job.folder.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(job.settings, write_toml(job.document).encode())
    return job.settings


def _environment() -> dict[str, str]:
    """Let children find this very package, also where it is used from a source tree."""
    here = str(Path(__file__).resolve().parents[2])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def _placed(job: Job, gpu: str | None) -> dict[str, str]:
    """Let a run that does not say where see one GPU alone."""
    hardware = job.document.get("hardware")
    # What is no group of settings is for the run itself to refuse; it must stop no other.
    says = isinstance(hardware, Mapping) and hardware.get("device", "auto") != "auto"
    return {} if gpu is None or says else {VISIBLE: gpu}


def _empty(waiting: "SimpleQueue[Job]") -> None:
    with contextlib.suppress(Empty):
        while True:
            waiting.get_nowait()


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
