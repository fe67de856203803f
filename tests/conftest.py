"""What tests of several rooms share."""

import atexit
import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pencil.report.drawings import Drawings

from .warm import UNDRAWN, WarmProcess, start_warm

# Triton decides at its first import whether kernels are interpreted, so before any test imports it.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
# Else torch compiles a program for every kind of vector that this CPU may know, before it compiles anything else.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")
# A shell lets what runs behind it ignore Ctrl-C, and runs that tests start would ignore it too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# A busy machine makes any single example slow. What needs a GPU needs no hypothesis.
with contextlib.suppress(ImportError):
    from hypothesis import settings

    settings.register_profile("pencil", deadline=None)
    settings.load_profile("pencil")

SOURCE_TREE = Path(__file__).parents[1] / "src"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported with the tests stays: it is not looked through, again and again, for what could be freed."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)
    return collected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that the processes end at about the same time."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def drawn() -> None:
    """Let reports have their figures, where a test is about these."""


@pytest.fixture
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures out of reports, which are otherwise whole: drawing takes longer than a short training."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr("pencil.report.make.draw", lambda _: Drawings(missing="not drawn"))
        monkeypatch.setattr("pencil.report.make.draw_pictures", lambda *_: {})
        monkeypatch.setenv(UNDRAWN, "1")


@pytest.fixture
def place(
    undrawn: None, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An empty working folder; decoded images are kept elsewhere."""
    monkeypatch.setenv("PENCIL_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SOURCE_TREE), *sys.path]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def warm_runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processes of a queue of runs start at once."""
    monkeypatch.setattr("pencil.run.queue.subprocess", SimpleNamespace(Popen=WarmProcess, DEVNULL=subprocess.DEVNULL))


@pytest.fixture
def warm(place: Path) -> Callable[..., WarmProcess]:
    """Start a command as a process of its own that has its libraries already."""
    return lambda *arguments, **environment: start_warm("-m", "pencil", *arguments, **environment)


@pytest.fixture
def warm_file(place: Path) -> Callable[..., WarmProcess]:
    """Start a file as such a process."""
    return start_warm


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real Chromium, closed with its file of tests: while it is open, an event loop runs in this thread."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; pip install playwright")
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    path = next((path for path in found if path), None)
    if path is None:
        pytest.skip("there is no Chromium; install it, e.g. apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()
