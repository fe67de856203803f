"""A place to run commands in, and small data that trains in a moment."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest

from pencil.cli import run

QUICK = ("--epochs", "1,1,1", "--backbone", "mlp", "--set", "hardware.threads=1")
"""Options of a run that is over in a moment."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line on stderr."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


Command = Callable[..., Ended]


@pytest.fixture
def pencil(place: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process."""

    def command(*arguments: object) -> Ended:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return command


@pytest.fixture
def rows(place: Path) -> Path:
    """Three clouds of points, with a test set and true labels; every tenth label is wrong."""
    return write_rows(place / "rows.npz")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on such rows, long enough that some labels are doubted; tests get copies of it."""
    shape = ("--epochs", "15,1,1", "--backbone", "mlp", "--set", "optimizer.batch_size=16", "--held-out", "0.3")
    return _train(tmp_path_factory.mktemp("finished"), "--set", "hardware.threads=1", *shape)


@pytest.fixture(scope="session")
def finished_quickly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the least epochs."""
    return _train(tmp_path_factory.mktemp("finished"), *QUICK)


def _train(folder: Path, *options: str) -> Path:
    with contextlib.chdir(folder):
        write_rows(folder / "rows.npz")
        assert run(["train", "rows.npz", "--out", "run", "--quiet", *options]) == 0
    return folder / "run"


@pytest.fixture
def trained(finished: Path, rows: Path) -> Path:
    """A copy of a finished run, beside its data."""
    shutil.copytree(finished, "run")
    return Path("run")


@pytest.fixture
def quick_run(finished_quickly: Path, rows: Path) -> Path:
    """A copy of the run of the least epochs, beside its data."""
    shutil.copytree(finished_quickly, "run")
    return Path("run")


def write_rows(path: Path, **changed: object) -> Path:
    """Write 120 rows of 8 features in 3 classes as .npz, with some arrays replaced (None leaves one out)."""
    rng = np.random.default_rng(0)
    clean = np.arange(120) % 3
    x = (rng.normal(size=(120, 8)) + 3 * np.eye(8)[clean]).astype(np.float32)
    y = np.where(np.arange(120) % 10 == 0, (clean + 1) % 3, clean)
    arrays = {"x": x, "y": y, "clean": clean, "x_test": x[:30] + 0.1, "y_test": clean[:30]} | changed
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


def listing(folder: Path) -> dict[str, bytes | None]:
    """Everything under a folder but what Python compiled, with the content of its files."""
    found = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in found}


@contextlib.contextmanager
def closed_pipe() -> Iterator[TextIO]:
    """Give a stream whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w")
    try:
        yield stream
    finally:
        with contextlib.suppress(OSError):
            stream.close()
