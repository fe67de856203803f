"""Kernels in CUDA C++ are compiled once, and by a thread that may speak to the driver."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from pencil.kernels import _nvrtc


class FakeKernel:
    def __init__(self, events: list[Any]) -> None:
        self.events = events

    def set_shared_memory_config(self, size: int) -> None:
        self.events.append(f"{size} bytes")

    def __call__(self, *, grid: Any, block: Any, args: Any, shared_mem: int) -> None:
        self.events.append(("launch", grid, block, args, shared_mem))


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What would have happened on a GPU, in order."""
    seen: list[Any] = []

    @contextmanager
    def device(index: int) -> Iterator[None]:
        seen.append(f"on {index}")
        yield

    def compiled(text: str, name: str, **options: Any) -> FakeKernel:
        seen.append(f"compile {name} {options['compute_capability']} {options['nvcc_options']}")
        return FakeKernel(seen)

    monkeypatch.setattr(torch.cuda, "device", device)
    monkeypatch.setattr(torch.cuda, "_compile_kernel", compiled)
    monkeypatch.setattr(torch, "zeros", lambda *_, device: seen.append(f"touch {device}"))
    monkeypatch.setattr(_nvrtc, "_thread", threading.local())
    _nvrtc._compiled.cache_clear()
    yield seen
    _nvrtc._compiled.cache_clear()


def _launch(device: int = 0, **more: Any) -> None:
    _nvrtc.launch("norm.cu", "slab_moments", {"STAGE": 1}, device, (3, 2), 64, [1.0], **more)


def test_a_kernel_is_compiled_once_for_a_device_and_shared_memory(events: list[Any]) -> None:
    _launch()
    launched = ("launch", (3, 2, 1), (64, 1, 1), [1.0], 0)
    assert events == ["on 0", "touch cuda:0", "compile slab_moments None ['-DSTAGE=1']", launched]
    events.clear()
    _launch()
    assert events == ["on 0", launched]
    events.clear()
    _launch(1, shared=99, wgmma=True)
    compiled = ["compile slab_moments 90a ['-DSTAGE=1']", "99 bytes"]
    assert events == ["on 1", "touch cuda:1", *compiled, (*launched[:-1], 99)]


def test_every_thread_touches_the_device_before_anything_else(events: list[Any]) -> None:
    _launch()
    events.clear()
    for _ in range(2):
        thread = threading.Thread(target=lambda: (_launch(), _launch()))
        thread.start()
        thread.join()
        assert events[:2] == ["on 0", "touch cuda:0"] and [str(e)[:5] for e in events].count("touch") == 1
        events.clear()


@pytest.mark.parametrize(
    ("capability", "plain", "wgmma"), [((8, 9), False, False), ((9, 0), True, True), ((10, 0), True, False)]
)
def test_where_they_are_available(
    events: list[Any], monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], plain: bool, wgmma: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    assert [_nvrtc._hindrance.__wrapped__(kind) is None for kind in (False, True)] == [plain, wgmma]
    assert not events or events[0] == "touch cuda:0"

    def fails(*_: Any, **__: Any) -> None:
        raise OSError("no compiler")

    monkeypatch.setattr(torch.cuda, "_compile_kernel", fails)
    monkeypatch.setattr(_nvrtc, "_hindrance", _nvrtc._hindrance.__wrapped__)
    line = (
        "pencil's kernels for this GPU cannot be compiled (OSError: no compiler): training is slower than it could be."
    )
    assert not _nvrtc.available() and _nvrtc.missing() == (line if plain else None)


def test_not_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert _nvrtc._hindrance.__wrapped__(False) == _nvrtc._hindrance.__wrapped__(True) == ""
