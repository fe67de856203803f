"""The gradient of weights for Hopper, run on the CPU by an emulation of a GPU's threads, against torch in 64 bits."""

import copy
import ctypes
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton", reason="triton is not installed")

from pencil.kernels import BlockConv, _conv64, _nvrtc, _wgrad_cuda

from .conftest import asked_for

LAST = torch.channels_last
CALL = """
extern "C" int shared_bytes() { return SHARED_BYTES; }
extern "C" const char* weights(int across, int down, unsigned seed, bool waits, const u16* image, const u16* grad,
                               float* partial, int batch) {
    late = waits;
    return launch_in_disorder(across, THREADS, seed, [=] { weight_sums(image, grad, partial, batch); }, down);
}
extern "C" const char* join(int across, const float* partial, void* result, int programs) {
    launch(across, 1, 1, JOIN_THREADS, [=] { join_sums(partial, result, programs); });
    return nullptr;
}
"""
Launch = Callable[..., None]


@pytest.fixture(scope="module")
def emulated(build: Callable[..., ctypes.CDLL]) -> Launch:
    """What stands in for the launch of the kernels."""
    text = f"{_nvrtc.source('wgrad.cu')}{CALL}"

    def launch(
        name: str,
        known: dict[str, int],
        _: Any,
        grid: tuple[int, int],
        args: list[Any],
        seed: int = 1,
        late: bool = True,
    ) -> None:
        library = build(text, known)
        library.weights.restype = library.join.restype = ctypes.c_char_p
        assert library.shared_bytes() == _wgrad_cuda.shared_bytes(known["WIDTH"])
        given = *(ctypes.c_void_p(tensor.data_ptr()) for tensor in args[:-1]), args[-1]
        if name == "weight_sums":
            wrong = library.weights(*grid, seed, ctypes.c_bool(late), *given)
        else:
            wrong = library.join(grid[0], *given)
        assert wrong is None, wrong

    return launch


def _images(batch: int, channels: int, height: int, width: int) -> Tensor:
    return torch.randn(batch, channels, height, width).bfloat16().contiguous(memory_format=LAST)


def _exact(x: Tensor, grad: Tensor) -> Tensor:
    shape = (grad.shape[1], x.shape[1], 3, 3)
    return torch.nn.grad.conv2d_weight(x.double(), shape, grad.double(), padding=1)


def _apart(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm())


@pytest.mark.parametrize(
    ("batch", "channels", "height", "width", "processors", "late"),
    [
        (2, 64, 32, 32, 1, True),  # eight tiles, one after the other
        (2, 64, 32, 32, 3, True),  # three, three and two
        (2, 64, 32, 32, 3, False),
        (1, 64, 32, 32, 9, True),  # one each
        (1, 64, 8, 64, 1, True),
        (2, 128, 16, 16, 8, True),  # two programs for each of four parts
    ],
)
def test_the_gradient_of_weights(
    emulated: Launch, monkeypatch: pytest.MonkeyPatch, batch: int, channels: int, height: int, width: int,
    processors: int, late: bool,
) -> None:  # fmt: skip
    torch.manual_seed(0)
    x, grad = _images(batch, channels, height, width), _images(batch, channels, height, width)
    rubbish, expected, found = torch.full, _exact(x, grad), []
    monkeypatch.setattr(torch, "empty", lambda *size, **kind: rubbish(size, float("nan"), **kind))
    monkeypatch.setattr(_nvrtc, "processors", lambda _: processors)
    for seed in (1, 15838):
        monkeypatch.setattr(_wgrad_cuda, "_launch", lambda *args: emulated(*args, seed, late))  # noqa: B023
        found.append(_wgrad_cuda.weight_gradient(grad, x, torch.float32))
        assert _apart(found[-1], expected) < 1e-6
        assert found[-1].is_contiguous(memory_format=LAST)
    assert torch.equal(*found), "always in the same order"
    low = _wgrad_cuda.weight_gradient(grad, x, torch.bfloat16)
    assert torch.equal(low, found[0].bfloat16())


@pytest.mark.parametrize(
    ("shape", "kernel", "dtype", "taken"),
    [
        ((32, 64, 32, 32), (64, 64, 3, 3), torch.bfloat16, True),
        ((128, 128, 16, 16), (128, 128, 3, 3), torch.bfloat16, True),
        ((31, 64, 32, 32), (64, 64, 3, 3), torch.bfloat16, False),  # too few pixels
        ((32, 64, 32, 32), (64, 64, 3, 3), torch.float32, False),
        ((32, 64, 32, 32), (128, 64, 3, 3), torch.bfloat16, False),
        ((32, 256, 32, 32), (256, 256, 3, 3), torch.bfloat16, False),
        ((999, 64, 28, 28), (64, 64, 3, 3), torch.bfloat16, False),
        ((999, 64, 8, 8), (64, 64, 3, 3), torch.bfloat16, False),
        ((999, 64, 8, 16), (64, 64, 3, 3), torch.bfloat16, False),  # half a tile
        ((32, 64, 32, 32), (64, 64, 1, 1), torch.bfloat16, False),
    ],
)
def test_what_is_taken(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], kernel: tuple[int, ...], dtype: torch.dtype, taken: bool
) -> None:
    assert asked_for(_wgrad_cuda.takes, monkeypatch, shape, kernel, dtype, taken) == [True] * taken


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_layer_learns_as_torchs_own(emulated: Launch, monkeypatch: pytest.MonkeyPatch, backend: str | None) -> None:
    launched: list[str] = []

    def launch(name: str, *args: Any) -> None:
        launched.append(name)
        emulated(name, *args)

    def works(wgmma: bool) -> bool:
        torch._dynamo.graph_break()  # The compiler must not look into this.
        return True

    monkeypatch.setattr(_nvrtc, "_works", works)
    monkeypatch.setattr(_wgrad_cuda, "_launch", launch)
    monkeypatch.setattr(_nvrtc, "processors", lambda _: 4)
    monkeypatch.setattr(_wgrad_cuda, "takes", lambda x, _: x.dtype == torch.bfloat16 and _nvrtc.available(wgmma=True))
    monkeypatch.setattr(_conv64, "takes", lambda *_: False)
    torch.manual_seed(0)
    plain = BlockConv(64, 64).to(memory_format=LAST)
    ours, low = copy.deepcopy(plain), copy.deepcopy(plain).bfloat16()
    x = _images(1, 64, 32, 32)

    def learned(conv: BlockConv, *, own: bool) -> list[Tensor]:
        def network(image: Tensor) -> Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                return conv.with_moments(image)[0] if own else conv(image)

        model = torch.compile(network, backend=backend, fullgraph=True) if backend and own else network
        image = x.clone().requires_grad_()
        out = model(image)
        return [out.detach(), *torch.autograd.grad(out.float().square().sum(), [image, conv.weight])]

    expected, found, halves = learned(plain, own=False), learned(ours, own=True), learned(low, own=True)
    assert launched == ["weight_sums", "join_sums"] * 2
    assert torch.equal(found[0], expected[0]) and torch.equal(found[1], expected[1])
    assert found[2].dtype == torch.float32 and _apart(found[2], expected[2]) < 3e-3
    assert torch.equal(halves[2], found[2].bfloat16())
    ours.eval()
    learned(ours, own=True)
    assert len(launched) == 4, "torch's own where nothing is learned"
