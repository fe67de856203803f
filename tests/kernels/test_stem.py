"""A stem's convolution is torch's, whether or not zeros stand beside its channels, and in whose kernels it runs.

Those in CUDA C++ run on the CPU by an emulation of a GPU's threads, against torch in 64 bits.
"""

import copy
import ctypes
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pencil.backbones._resnet import BasicBlock, ResNet
from pencil.engine.low import LowWeights
from pencil.kernels import Stem, _conv64, _nvrtc, _stem_cuda

from .conftest import asked_for

LAST = torch.channels_last
CALL = """
extern "C" int shared_bytes(int which) { return which == 0 ? FORWARD_BYTES : which == 1 ? SUMS_BYTES : JOIN_BYTES; }
extern "C" const char* forward(int programs, unsigned seed, bool at_once, const u16* image, const u16* kernel, u16* out,
                               float* partial, int batch) {
    early = at_once;
    return launch_in_disorder(programs, THREADS, seed, [=] { stem_forward(image, kernel, out, partial, batch); });
}
extern "C" const char* sums(int programs, unsigned seed, bool at_once, const u16* image, const u16* grad,
                            float* partial, int batch) {
    early = at_once;
    return launch_in_disorder(programs, THREADS, seed, [=] { stem_sums(image, grad, partial, batch); });
}
extern "C" const char* join(int programs, unsigned seed, bool, const float* partial, void* result, int count) {
    return launch_in_disorder(programs, JOIN_THREADS, seed, [=] { stem_join(partial, result, count); });
}
"""
KERNELS = ("forward", "sums", "join")
Launch = Callable[..., None]


@pytest.fixture(scope="module")
def emulated(build: Callable[..., ctypes.CDLL]) -> Launch:
    """What stands in for the launch of the kernels."""
    text = f"{_nvrtc.source('stem.cu')}{CALL}"

    def launch(
        name: str,
        known: dict[str, int],
        _: Any,
        programs: int,
        args: list[Any],
        seed: int = 1,
        early: bool = False,
    ) -> None:
        library, which = build(text, known), KERNELS.index(name.removeprefix("stem_"))
        kernel = getattr(library, KERNELS[which])
        kernel.restype = ctypes.c_char_p
        assert library.shared_bytes(which) == _stem_cuda.shared_bytes(name, known["WIDTH"])
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in args[:-1]]
        wrong = kernel(programs, seed, ctypes.c_bool(early), *pointers, args[-1])
        assert wrong is None, wrong

    return launch


def _images(batch: int, channels: int, height: int, width: int) -> Tensor:
    return (torch.randn(batch, channels, height, width) + 0.5).bfloat16().contiguous(memory_format=LAST)


def _four(x: Tensor) -> Tensor:
    return functional.pad(x, (0, 0, 0, 0, 0, 4 - x.shape[1])).contiguous(memory_format=LAST)


def _apart(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm())


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("shape", [(3, 1, 1), (7, 2, 3)])
def test_zeros_beside_the_channels_change_nothing(channels: int, shape: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    stem = Stem(channels, 16, *shape, bias=False).double()
    x = torch.randn(4, channels, 16, 16, dtype=torch.float64).contiguous(memory_format=LAST)
    expected = functional.conv2d(x, stem.weight, stride=shape[1], padding=shape[2])
    found, weight = stem.widened(x), torch.randn_like(expected)
    torch.testing.assert_close(found, expected)
    assert found.is_contiguous(memory_format=LAST)
    (gradient,), (wanted,) = (torch.autograd.grad((out * weight).sum(), stem.weight) for out in (found, expected))
    torch.testing.assert_close(gradient, wanted)


def test_elsewhere_it_is_torchs_own() -> None:
    stem, x = Stem(3, 8, 3, 1, 1, bias=False), torch.randn(2, 3, 8, 8)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(stem(x), functional.conv2d(x, stem.weight, padding=1))


SIZES = [
    (2, 3, 32, 32, 1),  # eight tiles, one after the other
    (2, 3, 32, 32, 3),  # three, three and two
    (1, 1, 32, 32, 9),  # one each
    (3, 4, 16, 16, 2),
    (2, 3, 8, 64, 1),
]


@pytest.mark.parametrize(("batch", "channels", "height", "width", "programs"), SIZES)
def test_a_convolution_and_its_moments(
    emulated: Launch, monkeypatch: pytest.MonkeyPatch, batch: int, channels: int, height: int, width: int, programs: int
) -> None:
    torch.manual_seed(0)
    image = _images(batch, channels, height, width)
    kernel = (0.3 * torch.randn(64, channels, 3, 3)).bfloat16().contiguous(memory_format=LAST)
    expected, wide, rubbish = functional.conv2d(image.double(), kernel.double(), padding=1), _four(image), torch.full
    monkeypatch.setattr(torch, "empty", lambda *size, **kind: rubbish(size, float("nan"), **kind))
    monkeypatch.setattr(_stem_cuda, "_programs", lambda tiles, _: min(tiles, programs))
    for seed, early in ((1, False), (15838, True)):
        monkeypatch.setattr(_stem_cuda, "_launch", lambda *args: emulated(*args, seed, early))  # noqa: B023
        found, sums = _stem_cuda.forward(wide, kernel)
        assert _apart(found, expected) < 3e-3
        assert found.is_contiguous(memory_format=LAST)
        tiles = found.double().permute(0, 2, 3, 1).reshape(-1, _conv64.TILE, 64)
        assert _apart(sums[:, 0], tiles.mean(1)) < 1e-6
        assert _apart(sums[:, 1], tiles.var(1, unbiased=False) * _conv64.TILE) < 1e-6


@pytest.mark.parametrize(("batch", "channels", "height", "width", "programs"), SIZES)
def test_the_gradient_of_weights(
    emulated: Launch, monkeypatch: pytest.MonkeyPatch, batch: int, channels: int, height: int, width: int, programs: int
) -> None:
    torch.manual_seed(0)
    x, grad = _images(batch, channels, height, width), _images(batch, 64, height, width)
    expected = torch.nn.grad.conv2d_weight(x.double(), (64, channels, 3, 3), grad.double(), padding=1)
    wide, found, rubbish = _four(x), [], torch.full
    monkeypatch.setattr(torch, "empty", lambda *size, **kind: rubbish(size, float("nan"), **kind))
    monkeypatch.setattr(_stem_cuda, "_programs", lambda tiles, _: min(tiles, programs))
    for seed, early in ((1, False), (15838, True)):
        monkeypatch.setattr(_stem_cuda, "_launch", lambda *args: emulated(*args, seed, early))  # noqa: B023
        found.append(_stem_cuda.weight_gradient(grad, wide, channels, torch.float32))
        assert _apart(found[-1], expected) < 1e-6
        assert found[-1].is_contiguous(memory_format=LAST)
    assert torch.equal(*found), "always in the same order"
    low = _stem_cuda.weight_gradient(grad, wide, channels, torch.bfloat16)
    assert torch.equal(low, found[0].bfloat16())


@pytest.mark.parametrize("programs", [1, 31, 32, 100, 264])
def test_the_sums_of_many_programs_are_added_up(emulated: Launch, programs: int) -> None:
    torch.manual_seed(0)
    partial, found = torch.randn(programs, 64, 9, 4), torch.full((64, 9, 3), float("nan"))
    known = _stem_cuda.constants(3, 32, 32, torch.float32)
    emulated("stem_join", known, None, 64 * 9 // _stem_cuda.JOINED, [partial, found, programs])
    assert _apart(found, partial.double().sum(0)[..., :3]) < 1e-6


@pytest.mark.parametrize(
    ("shape", "kernel", "dtype", "taken"),
    [
        ((32, 3, 32, 32), (64, 3, 3, 3), torch.float32, True),
        ((128, 1, 16, 16), (64, 1, 3, 3), torch.bfloat16, True),
        ((8, 4, 64, 64), (64, 4, 3, 3), torch.float32, True),
        ((31, 3, 32, 32), (64, 3, 3, 3), torch.float32, False),  # too few pixels
        ((32, 3, 32, 32), (64, 3, 3, 3), torch.float64, False),
        ((32, 5, 32, 32), (64, 5, 3, 3), torch.float32, False),
        ((32, 3, 32, 32), (32, 3, 3, 3), torch.float32, False),
        ((999, 3, 28, 28), (64, 3, 3, 3), torch.float32, False),
        ((999, 3, 8, 16), (64, 3, 3, 3), torch.float32, False),  # half a tile
        ((32, 3, 32, 32), (64, 3, 7, 7), torch.float32, False),
    ],
)
def test_what_is_taken(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], kernel: tuple[int, ...], dtype: torch.dtype, taken: bool
) -> None:
    assert asked_for(_stem_cuda.takes, monkeypatch, shape, kernel, dtype, taken) == [False] * taken, "it needs no wgmma"


@pytest.fixture
def launched(emulated: Launch, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Convolve as if this were such a GPU; returns what is launched."""
    pytest.importorskip("triton", reason="triton is not installed")
    names: list[str] = []

    def launch(name: str, *args: Any) -> None:
        names.append(name)
        emulated(name, *args)

    def works(wgmma: bool) -> bool:
        torch._dynamo.graph_break()  # The compiler must not look into this.
        return True

    monkeypatch.setattr(_nvrtc, "_works", works)
    monkeypatch.setattr(_nvrtc, "processors", lambda _: 1)
    monkeypatch.setattr(_stem_cuda, "_launch", launch)
    monkeypatch.setattr(_stem_cuda, "takes", lambda *_: _nvrtc.available())
    return names


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_layer_learns_as_torchs_own(launched: list[str], channels: int, backend: str | None) -> None:
    torch.manual_seed(0)
    plain = Stem(channels, 64, 3, 1, 1, bias=False).to(memory_format=LAST)
    ours, low = copy.deepcopy(plain), copy.deepcopy(plain).bfloat16()
    x, grad = torch.randn(1, channels, 32, 32), _images(1, 64, 32, 32)

    def learned(stem: Stem, *, own: bool) -> list[Tensor]:
        def network(image: Tensor) -> Any:
            with torch.autocast("cpu", torch.bfloat16):
                return stem.with_moments(image) if own else (stem(image), None)

        model = torch.compile(network, backend=backend, fullgraph=True) if backend and own else network
        out, moments = model(x)
        known = [] if moments is None else [moments]
        assert not any(tensor.requires_grad for tensor in known)
        return [out.detach(), *torch.autograd.grad(out, stem.weight, grad), *known]

    expected, found, halves = learned(plain, own=False), learned(ours, own=True), learned(low, own=True)
    assert launched == ["stem_forward", "stem_sums", "stem_join"] * 2
    assert found[0].dtype == torch.bfloat16 and _apart(found[0], expected[0]) < 3e-3
    assert found[1].dtype == torch.float32 and _apart(found[1], expected[1]) < 3e-3
    assert found[1].is_contiguous(memory_format=LAST)
    result = found[0].double()
    torch.testing.assert_close(found[2][0].double(), result.mean((0, 2, 3)), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found[2][1].double(), result.var((0, 2, 3), unbiased=False), rtol=1e-5, atol=1e-6)
    assert torch.equal(halves[0], found[0]) and torch.equal(halves[1], found[1].bfloat16())


def test_it_is_torchs_own_convolution_otherwise(launched: list[str]) -> None:
    stem, x = Stem(3, 64, 3, 1, 1, bias=False), torch.randn(1, 3, 16, 16)
    turned_off = [
        (stem, x.clone().requires_grad_(), True),
        (copy.deepcopy(stem).eval(), x, True),
        (stem, x, False),
        (Stem(3, 64, 3, 1, 1), x, True),
        (Stem(3, 64, 3, 2, 1, bias=False), x, True),
        (Stem(3, 64, 3, 1, 2, bias=False), x, True),
        (Stem(3, 64, 3, 1, 1, dilation=2, bias=False), x, True),
        (Stem(3, 64, 3, 1, 1, bias=False, padding_mode="reflect"), x, True),
    ]
    for layer, image, cast in turned_off:
        with torch.autocast("cpu", torch.bfloat16, enabled=cast):
            out, moments = layer.with_moments(image)
            assert torch.equal(out, layer(image)) and moments is None
    assert not launched


@pytest.mark.parametrize("small", [True, False])
def test_residual_networks_see_small_images_by_it(launched: list[str], small: bool) -> None:
    network = ResNet(3, 5, block=BasicBlock, blocks=(1, 1, 1, 1), small_images=small)
    low, x = LowWeights(network).network, torch.randn(1, 3, 32, 32)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        one, other = (net._stem(x).finished() for net in (network, low))
        assert low.conv1.weight.dtype == torch.bfloat16
        expected = network.maxpool(functional.relu(network.bn1(network.conv1(x))))
    assert launched == ["stem_forward"] * (2 * small)
    assert _apart(one, expected) < 1e-2 and _apart(other, expected) < 1e-2


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_on_a_gpu_in_sixteen_bits() -> None:
    torch.manual_seed(0)
    stem = Stem(3, 64, 3, 1, 1, bias=False).cuda()
    x = torch.randn(128, 3, 32, 32, device="cuda").contiguous(memory_format=LAST)
    with torch.autocast("cuda", torch.bfloat16):
        found = stem(x)
    expected = functional.conv2d(x.bfloat16().double(), stem.weight.bfloat16().double(), padding=1)
    torch.testing.assert_close(found.double(), expected, rtol=2**-8, atol=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() < (9, 0), reason="no such GPU here"
)
@pytest.mark.parametrize(
    ("batch", "channels", "height", "width"),
    [(128, 3, 32, 32), (72, 1, 32, 32), (321, 3, 16, 16), (16, 4, 64, 64), (33, 3, 16, 64)],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_on_a_gpu_by_its_own_kernels(batch: int, channels: int, height: int, width: int, compiled: bool) -> None:
    torch.manual_seed(0)
    stem = Stem(channels, 64, 3, 1, 1, bias=False).to("cuda", memory_format=LAST)
    x = torch.randn(batch, channels, height, width, device="cuda")
    grad = _images(batch, 64, height, width).cuda()
    assert _stem_cuda.takes(x, stem.weight)
    model = torch.compile(stem.with_moments, dynamic=False, fullgraph=True) if compiled else stem.with_moments

    def ours() -> list[Tensor]:
        with torch.autocast("cuda", torch.bfloat16):
            out, moments = model(x)
        assert moments is not None
        return [out.detach(), *torch.autograd.grad(out, stem.weight, grad), moments]

    seen = ours()
    for _ in range(3):
        assert all(torch.equal(one, again) for one, again in zip(seen, ours(), strict=True))
    weight = stem.weight.detach().bfloat16().double().requires_grad_()
    expected = functional.conv2d(x.bfloat16().double(), weight, padding=1)
    assert _apart(seen[0], expected.detach()) < 3e-3
    assert seen[1].dtype == torch.float32
    assert _apart(seen[1], torch.autograd.grad(expected, weight, grad.double())[0]) < 1e-5
    wide = seen[0].double()
    torch.testing.assert_close(seen[2][0].double(), wide.mean((0, 2, 3)), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(seen[2][1].double(), wide.var((0, 2, 3), unbiased=False), rtol=1e-4, atol=1e-5)
