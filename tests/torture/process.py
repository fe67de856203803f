"""Commands as processes of their own, forked from this one so that none has to import torch anew."""

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

DEADLINE = 120.0
"""Seconds after which a command counts as hanging."""


def load() -> None:
    """Import what every command needs, once; nothing is computed here, so that no thread is lost by a fork."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import lightning_fabric  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import sklearn.mixture  # noqa: F401
    import torch

    import pencil.cli
    import pencil.report.make
    import pencil.review.desk
    import pencil.run.finished.predict  # noqa: F401

    torch.set_num_threads(1)


def bound_memory(more: int = 2 * 2**30) -> None:
    """Let this process take no more than so many bytes beyond what it has; a reader has to do with it."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, resource.RLIM_INFINITY))


@dataclass
class Process:
    """A command that is running, or has ended."""

    pid: int
    log: Path
    status: int | None = None

    def running(self) -> bool:
        if self.status is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is None

    def send(self, number: int) -> None:
        if self.running():
            os.kill(self.pid, number)

    def kill(self) -> bool:
        """Kill it the hard way; say whether it was still running."""
        self.send(signal.SIGKILL)
        return self.end() == -signal.SIGKILL

    def end(self, seconds: float = DEADLINE) -> int:
        """Wait for it and return its exit code; minus the signal's number where one ended it."""
        limit = time.monotonic() + seconds
        while self.running():
            if time.monotonic() > limit:
                self.send(signal.SIGKILL)
                raise AssertionError(f"the command hangs after {seconds:.0f} s: {self.text()[-500:]}")
            time.sleep(0.002)
        assert self.status is not None
        return self.status

    def text(self) -> str:
        """What it said, on stdout and stderr."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def line(self) -> str:
        """The line that a refused command ends with."""
        text = self.text()
        assert "Traceback" not in text, text[-2000:]
        lines = [line for line in text.splitlines() if line.startswith("pencil: ")]
        assert lines, f"no clear line (code {self.status}): {text[-1000:]}"
        return lines[-1]


def start(
    *arguments: object, log: Path, environment: Mapping[str, str] | None = None, first: Callable[[], None] | None = None
) -> Process:
    """Start `pencil` with these arguments; `first` is called in the new process before anything else."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return Process(pid, log)
    code = 70
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for stream in (1, 2):
            os.dup2(out, stream)
        os.environ.update(environment or {})
        if first is not None:
            first()
        from pencil.cli import run

        code = run([str(argument) for argument in arguments])
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def finish(
    *arguments: object, log: Path, seconds: float = DEADLINE, first: Callable[[], None] | None = None
) -> Process:
    """Run `pencil` with these arguments to its end."""
    process = start(*arguments, log=log, first=first)
    process.end(seconds)
    return process
