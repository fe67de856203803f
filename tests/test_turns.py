"""Who measures a GPU waits for others that do, but not for ever."""

import tempfile
import threading
import time
from pathlib import Path

import pytest
import torch

from pencil.runtime import turn
from pencil.runtime.turns import _lock_file

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_one_after_the_other() -> None:
    order: list[str] = []
    waits = threading.Event()

    def second() -> None:
        waits.set()
        with turn(CPU):
            order.append("second")

    thread = threading.Thread(target=second)
    with turn(CPU):
        thread.start()
        waits.wait()
        time.sleep(0.3)
        order.append("first")
    thread.join(timeout=30)
    assert order == ["first", "second"]


def test_patience_ends() -> None:
    with turn(CPU):
        started = time.monotonic()
        with turn(CPU, patience=0.2):
            assert 0.2 <= time.monotonic() - started < 20


def test_without_a_place_for_the_lock_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with turn(CPU):
        assert not _lock_file(CPU).exists()


def test_errors_inside_pass_and_give_it_back() -> None:
    with pytest.raises(OSError, match="of the work"), turn(CPU):
        raise OSError("of the work")
    started = time.monotonic()
    with turn(CPU, patience=30):
        assert time.monotonic() - started < 10
