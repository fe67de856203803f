"""Commands of pencil in processes of their own that start at once: forked from one that has loaded the libraries."""

import multiprocessing
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

LIBRARIES = (
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.figure", "pandas", "pencil.cli",
    "pencil.report", "pencil.run.fit", "sklearn.datasets", "sklearn.metrics", "torch._dynamo",
)  # fmt: skip
COMMAND = """
import os, sys
from pencil.cli import main
os.chdir(place)
os.environ.clear()
os.environ.update(environment)
for number, path in enumerate(streams, start=1):
    os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), number)
sys.argv = ["pencil", *arguments]
main()
"""


class WarmProcess:
    """What tests and the queue of runs use of `subprocess.Popen`, for commands `python -m pencil ...`."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
        stdin: int | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        assert list(command[1:3]) == ["-m", "pencil"]
        self._said = tempfile.TemporaryDirectory(prefix="pencil-")
        self._streams = [self._path_of(stream, name) for stream, name in ((stdout, "out"), (stderr, "err"))]
        given = {
            "arguments": list(command[3:]), "place": os.getcwd(), "environment": dict(env or os.environ),
            "streams": self._streams,
        }  # fmt: skip
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*LIBRARIES])
        self._process = context.Process(target=exec, args=(COMMAND, given), daemon=True)
        self._process.start()

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
