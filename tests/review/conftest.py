"""Run folders that were never trained, a review server as a process of its own, and someone who talks to it."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from pencil.results.arrays import write_arrays
from pencil.results.atomic import write_atomic
from pencil.results.documents import write_classes
from pencil.results.folder import RunFolder
from pencil.results.labels_table import build_labels, write_labels

from ..warm import WarmProcess

SOURCE_TREE = Path(__file__).parents[2] / "src"
CLASSES = ("ant", "bee", "cat")


def make_run(
    folder: Path, *, count: int = 30, classes: tuple[str, ...] = CLASSES, ids: list[str] | None = None, source: str = ""
) -> Path:
    """Write a finished run over `count` grey images in an .npz file beside it; every third label is doubtful."""
    rng = np.random.default_rng(0)
    names = [f"picture-{number:05d}" for number in range(count)] if ids is None else ids
    given = np.arange(count) % len(classes)
    suspect = np.arange(count) % 3 == 0
    corrected = np.where(suspect, (given + 1) % len(classes), given)
    distribution = np.full((count, len(classes)), 0.1 / (len(classes) - 1))
    distribution[np.arange(count), corrected] = 0.9
    folder.parent.mkdir(parents=True, exist_ok=True)
    data = folder.parent / f"{folder.name}-data.npz"
    np.savez(data, x=rng.integers(0, 255, (count, 6, 5), dtype=np.uint8), y=given, ids=np.array(names))
    run = RunFolder.create(folder)
    table = build_labels(
        class_names=classes, ids=names, given=given, corrected=corrected, confidence=np.full(count, 0.9),
        entropy=np.full(count, 0.3), quality=np.where(suspect, 0.1, 0.9) + np.arange(count) * 0.05 / count,
        network=corrected, changed_at=np.where(suspect, 4, -1), num_changes=suspect.astype(int),
        decision=np.where(suspect, np.where(np.arange(count) % 2, "review", "relabel"), "keep"),
        split=np.full(count, "train"),
    )  # fmt: skip
    write_labels(run.labels, table)
    write_arrays(run.label_distributions, {"label_distributions": distribution.astype(np.float32)})
    write_classes(run.classes, classes)
    config = f'method = "pencil"\n[data]\nsource = {json.dumps(source or str(data))}\nnoise = "symmetric:0.4"\n'
    write_atomic(run.config, config.encode())
    run.set_state("finished")
    return folder


@dataclass
class Client:
    """A browser without a screen; every header can be forged."""

    address: str
    cookie: str = field(init=False)
    port: int = field(init=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        assert parts.port is not None
        self.port = parts.port
        self.cookie = f"pencil_review_{parts.port}={parse_qs(parts.query)['token'][0]}"

    def ask(
        self, method: str, path: str, body: bytes | None = None, **changed: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """Send one request as the page would; `changed` replaces headers, None leaves one out."""
        usual: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie}
        if method == "POST":
            usual |= {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json"}
        usual |= {name.replace("_", "-"): value for name, value in changed.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in usual.items():
            if value is not None:
                connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, content

    def get(self, path: str) -> Any:
        status, _, content = self.ask("GET", path)
        assert status == 200, content
        return json.loads(content)

    def post(self, path: str, **fields: Any) -> Any:
        status, _, content = self.ask("POST", path, json.dumps({"reviewer": "me"} | fields).encode())
        assert status == 200, content
        return json.loads(content)


@dataclass
class Server:
    """A running `pencil review`."""

    process: WarmProcess
    address: str

    @property
    def client(self) -> Client:
        return Client(self.address)


@contextmanager
def serving(run: Path, *options: str) -> Iterator[Server]:
    """Start `pencil review` on a free port and end it afterwards."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(SOURCE_TREE), *sys.path])}
    command = [sys.executable, "-m", "pencil", "review", str(run), "--no-open", "--port", "0", *options]
    process = WarmProcess(command, stdin=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("review: "):
        raise AssertionError(process.communicate(timeout=10))
    try:
        yield Server(process, line.removeprefix("review: ").strip())
    finally:
        process.terminate()
        process.communicate(timeout=10)


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make run folders, each in a place of its own."""
    return lambda **how: make_run(tmp_path_factory.mktemp("place") / "run", **how)


@pytest.fixture(scope="module")
def client(make: Callable[..., Path]) -> Iterator[Client]:
    """Someone who talks to a review of thirty examples."""
    with serving(make()) as server:
        yield server.client
