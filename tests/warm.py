"""Python programs in processes of their own that start at once: forked from one that has loaded the libraries."""

import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

LIBRARIES = (
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.figure", "pandas", "pencil.cli",
    "pencil.report", "pencil.run.fit", "sklearn.datasets", "sklearn.metrics", "torch._dynamo",
)  # fmt: skip
UNDRAWN = "PENCIL_TESTS_UNDRAWN"
"""The variable that leaves the figures out of reports."""
LAUNCH = ("--nproc-per-node", "2")
"""What torch's launcher is told to start a pair."""
PROGRAM = """
import os, runpy, subprocess, sys, traceback


def start(arguments):
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


def run(command, **how):
    # What a program starts itself has the libraries too.
    if command[1:3] != ["-m", "pencil"] or how != {"check": True}:
        return started(command, **how)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 0
        try:
            start(command[1:])
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise subprocess.CalledProcessError(code, command)


os.chdir(place)
os.environ.clear()
os.environ.update(environment)
for number, stream in streams.items():
    file = os.open(stream, os.O_WRONLY | os.O_APPEND) if isinstance(stream, str) else stream.fileno()
    os.dup2(file, number)
if 0 in streams:
    sys.stdin = open(0)
started, subprocess.run = subprocess.run, run
if undrawn in os.environ:
    from pencil.report import drawings, make

    make.draw, make.draw_pictures = lambda _: drawings.Drawings(missing="not drawn"), lambda *_: {}
start(arguments)
"""


class WarmProcess:
    """What tests and what they test use of `subprocess.Popen`, for commands `python -m module ...` or `python file`.

    Where it is told something by a pipe, it answers by one; else what it says lies in files until it has ended.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
        stdin: int | None = None,
        env: Mapping[str, str] | None = None,
        text: bool = True,
    ) -> None:
        assert command[0] == sys.executable and text
        self._said = tempfile.TemporaryDirectory(prefix="pencil-")
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*LIBRARIES])
        streams: dict[int, Any] = {2: self._path_of(stderr, "err")}
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        if stdin == subprocess.PIPE:
            (streams[0], self._told), (self._heard, streams[1]) = context.Pipe(duplex=False), context.Pipe(duplex=False)
            self.stdin = os.fdopen(self._told.fileno(), "w", closefd=False)
            self.stdout = os.fdopen(self._heard.fileno(), closefd=False)
        else:
            streams[1] = self._path_of(stdout, "out")
        self._streams = [stream for _, stream in sorted(streams.items()) if isinstance(stream, str)]
        given = {
            "arguments": list(command[1:]), "place": os.getcwd(), "environment": dict(env or os.environ),
            "streams": streams, "undrawn": UNDRAWN, "__name__": "warm",
        }  # fmt: skip
        self._process = context.Process(target=exec, args=(PROGRAM, given), daemon=True)
        self._process.start()
        for stream in streams.values():
            if not isinstance(stream, str):
                stream.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        self._process.join(timeout)
        if self._process.is_alive():
            raise subprocess.TimeoutExpired("pencil", timeout or 0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, ...]:
        self.wait(timeout)
        return tuple(Path(path).read_text(encoding="utf-8") for path in self._streams)

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def _path_of(self, stream: int | IO[bytes], name: str) -> str:
        if not isinstance(stream, int):
            return stream.name
        path = Path(self._said.name, name)
        path.touch()
        return str(path)


def start_warm(*arguments: object, **environment: str) -> WarmProcess:
    """Start `python` with these arguments, here, with what is added to the environment."""
    return WarmProcess([sys.executable, *map(str, arguments)], env=os.environ | environment)


def warm_pair(start: Callable[..., WarmProcess], *arguments: object, code: int = 0) -> tuple[str, str]:
    """Run two processes as torch's launcher would start them, which end with this code; return what both said."""
    told = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "TORCHELASTIC_RUN_ID": "pair"}
    pair = [start(*arguments, RANK=rank, LOCAL_RANK=rank, **told) for rank in ("0", "1")]
    out, err = map("".join, zip(*(process.communicate(timeout=200) for process in pair), strict=True))
    assert [process.returncode for process in pair] == [code, code], err
    return out, err


def free_port() -> str:
    """Return a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])
