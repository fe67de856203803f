"""The convolution for Hopper, run on the CPU by an emulation of a GPU's threads, against torch in 64 bits."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

pytest.importorskip("triton", reason="triton is not installed")

from pencil.kernels import BlockConv, BlockNorm, NormReLU, _conv64, _norm_cuda, _nvrtc

from .conftest import Launch, asked_for

CHANNELS, LAST = 64, torch.channels_last


@pytest.fixture(autouse=True)
def processors(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many programs there are: so few that each has several tiles."""
    number = [1]
    monkeypatch.setattr(_nvrtc, "processors", lambda device: number[0])
    return number


def _images(batch: int, height: int, width: int) -> Tensor:
    return torch.randn(batch, CHANNELS, height, width).bfloat16().contiguous(memory_format=LAST)


def _apart(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm())


@pytest.mark.parametrize(
    ("way", "batch", "height", "width", "programs", "late"),
    [
        ("forward", 2, 32, 32, 1, True),  # eight tiles, one after the other
        ("forward", 2, 32, 32, 3, True),  # three, three and two
        ("forward", 2, 32, 32, 3, False),
        ("forward", 1, 32, 32, 4, True),  # one each
        ("forward", 2, 8, 64, 1, True),
        ("gradient", 2, 32, 32, 1, True),
        ("gradient", 2, 32, 32, 3, False),
        ("gradient", 3, 16, 16, 1, True),
    ],
)
def test_a_convolution_and_its_moments(
    emulated_conv64: Launch, processors: list[int], monkeypatch: pytest.MonkeyPatch, way: str, batch: int, height: int,
    width: int, programs: int, late: bool,
) -> None:  # fmt: skip
    torch.manual_seed(0)
    processors[0] = programs
    image = _images(batch, height, width)
    kernel = (0.1 * torch.randn(CHANNELS, CHANNELS, 3, 3)).bfloat16().contiguous(memory_format=LAST)
    rubbish = torch.full_like
    monkeypatch.setattr(torch, "empty_like", lambda x: rubbish(x, float("nan")))
    for seed in (1, 15838):
        monkeypatch.setattr(_conv64, "_launch", lambda *args: emulated_conv64(*args, seed, late))  # noqa: B023
        if way == "gradient":
            found = _conv64.gradient(image, kernel)
            expected = functional.conv_transpose2d(image.double(), kernel.double(), padding=1)
        else:
            found, sums = _conv64.forward(image, kernel)
            expected = functional.conv2d(image.double(), kernel.double(), padding=1)
            tiles = found.double().permute(0, 2, 3, 1).reshape(-1, _conv64.TILE, CHANNELS)
            assert _apart(sums[:, 0], tiles.mean(1)) < 1e-5
            assert _apart(sums[:, 1], tiles.var(1, unbiased=False) * _conv64.TILE) < 1e-5
        assert _apart(found, expected) < 3e-3


@pytest.mark.parametrize(
    ("height", "width", "programs", "late"),
    [(32, 32, 1, True), (32, 32, 3, False), (16, 16, 2, True), (8, 64, 1, True), (8, 64, 4, True)],
)
def test_an_image_is_activated_on_its_way_in(
    emulated_conv64: Launch, processors: list[int], monkeypatch: pytest.MonkeyPatch, height: int, width: int,
    programs: int, late: bool,
) -> None:  # fmt: skip
    torch.manual_seed(0)
    processors[0], eps = programs, 1e-5
    x = _images(2, height, width)
    kernel = (0.1 * torch.randn(CHANNELS, CHANNELS, 3, 3)).bfloat16().contiguous(memory_format=LAST)
    weight, bias, moments = torch.rand(CHANNELS) - 0.3, torch.randn(CHANNELS), torch.rand(2, CHANNELS)
    wide = moments.double()[:, :, None, None]
    normal = (x.double() - wide[0]) / (wide[1] + eps).sqrt()
    active = normal * weight.double()[:, None, None] + bias.double()[:, None, None]
    rubbish, rows = torch.full_like, x.numel() // CHANNELS
    monkeypatch.setattr(torch, "empty_like", lambda x: rubbish(x, float("nan")))
    for seed in (1, 15838):
        monkeypatch.setattr(_conv64, "_launch", lambda *args: emulated_conv64(*args, seed, late))  # noqa: B023
        running_mean, running_var, batches = torch.ones(CHANNELS), torch.full((CHANNELS,), 2.0), torch.tensor(4)
        running = (running_mean, running_var, batches, 0.25, eps)
        shown, found, sums = _conv64.norm_forward(x, moments, weight, bias, *running, kernel)
        assert _apart(shown, active.relu()) < 3e-3
        assert _apart(found, functional.conv2d(shown.double(), kernel.double(), padding=1)) < 3e-3
        tiles = found.double().permute(0, 2, 3, 1).reshape(-1, _conv64.TILE, CHANNELS)
        assert _apart(sums[:, 0], tiles.mean(1)) < 1e-5
        assert _apart(sums[:, 1], tiles.var(1, unbiased=False) * _conv64.TILE) < 1e-5
        torch.testing.assert_close(running_mean, 0.75 + 0.25 * moments[0])
        torch.testing.assert_close(running_var, 1.5 + 0.25 * moments[1] * rows / (rows - 1))
        assert batches == 5


@pytest.mark.parametrize(
    ("add", "both", "height", "width", "programs", "late"),
    [
        (False, False, 32, 32, 1, True),
        (False, False, 32, 32, 3, False),
        (False, True, 32, 32, 3, True),
        (True, True, 32, 32, 3, True),
        (True, True, 16, 16, 2, True),
        (True, False, 8, 64, 5, True),  # more programs than tiles of either group
    ],
)
def test_a_gradient_through_the_normalisation_before(
    emulated_conv64: Launch, processors: list[int], monkeypatch: pytest.MonkeyPatch, add: bool, both: bool, height: int,
    width: int, programs: int, late: bool,
) -> None:  # fmt: skip
    torch.manual_seed(0)
    processors[0], eps = programs, 1e-5
    grad, other, x, added = (_images(2, height, width) for _ in range(4))
    kernel = (0.1 * torch.randn(CHANNELS, CHANNELS, 3, 3)).bfloat16().contiguous(memory_format=LAST)
    weight, bias, moments = torch.rand(CHANNELS) - 0.3, torch.randn(CHANNELS), torch.rand(2, CHANNELS)
    away = x.double() - moments[0].double()[:, None, None]
    scale = weight.double() * (moments[1].double() + eps).rsqrt()
    y = (
        (scale[:, None, None] * away + bias.double()[:, None, None] + (added.double() if add else 0.0))
        .relu()
        .bfloat16()
    )
    y = y.contiguous(memory_format=LAST)
    rubbish = torch.full_like
    monkeypatch.setattr(torch, "empty_like", lambda x: rubbish(x, float("nan")))
    for seed in (1, 15838):
        monkeypatch.setattr(_conv64, "_launch", lambda *args: emulated_conv64(*args, seed, late))  # noqa: B023
        given = (grad, other if both else None, y if add else None, kernel, x, moments, weight, bias, eps)
        passed, partial = _conv64.norm_gradient(*given)
        expected = functional.conv_transpose2d(grad.double(), kernel.double(), padding=1)
        expected = (expected + (other.double() if both else 0.0)) * (y > 0)
        assert _apart(passed, expected) < 4e-3
        assert partial.shape == (2 * min(programs, 2 * height * width // 256), 2, CHANNELS)
        found = passed.double()
        sums = torch.stack([(found * away).sum((0, 2, 3)), found.sum((0, 2, 3))])
        assert _apart(partial.sum(0), sums) < 1e-5


def test_other_sizes_and_machines_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [(32, 32), (16, 16), (64, 64), (4, 64), (8, 32), (32, 16), (8, 16), (8, 8), (28, 28), (6, 64), (32, 24)]
    assert [_conv64.divides(*size) for size in sizes] == [True] * 6 + [False] * 5
    assert not _conv64.takes(_images(64, 32, 32), torch.zeros(CHANNELS, CHANNELS, 3, 3))  # not on a GPU


@pytest.mark.parametrize(
    ("shape", "kernel", "dtype", "taken"),
    [
        ((64, 64, 32, 32), (64, 64, 3, 3), torch.bfloat16, True),
        ((63, 64, 32, 32), (64, 64, 3, 3), torch.bfloat16, False),  # too few pixels
        ((64, 64, 32, 32), (64, 64, 3, 3), torch.float32, False),
        ((64, 64, 32, 32), (128, 64, 3, 3), torch.bfloat16, False),
        ((64, 32, 32, 64), (64, 32, 3, 3), torch.bfloat16, False),
        ((99, 64, 28, 28), (64, 64, 3, 3), torch.bfloat16, False),
        ((64, 64, 32, 32), (64, 64, 1, 1), torch.bfloat16, False),
    ],
)
def test_what_is_taken(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], kernel: tuple[int, ...], dtype: torch.dtype, taken: bool
) -> None:
    assert asked_for(_conv64.takes, monkeypatch, shape, kernel, dtype, taken) == [True] * taken


@pytest.fixture
def fused(emulated_conv64: Launch, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, int]]:
    """Convolve as if this were such a GPU; returns what is launched."""
    launched: list[dict[str, int]] = []

    def launch(known: dict[str, int], *args: Any) -> None:
        launched.append(known)
        emulated_conv64(known, *args)

    monkeypatch.setattr(_conv64, "_launch", launch)
    monkeypatch.setattr(_conv64, "takes", lambda x, _: x.dtype == torch.bfloat16 and _nvrtc.available(wgmma=True))
    return launched


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_layers_learn_as_those_of_torch(
    fused: list[dict[str, int]], monkeypatch: pytest.MonkeyPatch, backend: str | None
) -> None:
    torch.manual_seed(0)
    x = torch.randn(1, CHANNELS, 32, 32).contiguous(memory_format=LAST)
    first = nn.Conv2d(CHANNELS, CHANNELS, 1).to(memory_format=LAST)
    conv = BlockConv(CHANNELS, CHANNELS).to(memory_format=LAST)
    norm = BlockNorm(CHANNELS)

    def outcome(dtype: torch.dtype, *, fuse: bool = False) -> list[Tensor]:
        def works(wgmma: bool) -> bool:
            torch._dynamo.graph_break()  # The compiler must not look into this.
            return fuse

        monkeypatch.setattr(_nvrtc, "_works", works)
        layers = [layer.to(dtype) for layer in (first, conv, norm)]

        def network(image: Tensor) -> Tensor:
            with torch.autocast("cpu", torch.bfloat16, enabled=dtype != torch.float64):
                out: Tensor = norm(*conv.with_moments(first(image)))
            return out

        model = torch.compile(network, backend=backend, fullgraph=True) if backend and fuse else network
        parameters = [p for layer in layers for p in layer.parameters()]
        image = x.to(dtype).requires_grad_()
        gradients = torch.autograd.grad(model(image).double().square().sum(), [image, *parameters])
        return [gradient.double() for gradient in gradients]

    exact = outcome(torch.float64)
    plain, ours = outcome(torch.float32), outcome(torch.float32, fuse=True)
    assert [known["TURNED"] for known in fused] == [0, 1]
    for right, rounded, found in zip(exact, plain, ours, strict=True):
        assert (found - right).norm() <= 2 * (rounded - right).norm() + 1e-3 * right.norm()


def test_the_moments_are_those_of_the_result(fused: list[dict[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nvrtc, "_works", lambda wgmma: True)
    conv, x = BlockConv(CHANNELS, CHANNELS), _images(1, 32, 32)
    with torch.autocast("cpu", torch.bfloat16):
        out, moments = conv.with_moments(x)
    assert moments is not None and not moments.requires_grad
    wide = out.detach().double()
    torch.testing.assert_close(moments[0].double(), wide.mean((0, 2, 3)), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(moments[1].double(), wide.var((0, 2, 3), unbiased=False), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_weights_in_16_bits_learn_in_16_bits(
    fused: list[dict[str, int]], monkeypatch: pytest.MonkeyPatch, backend: str | None
) -> None:
    def works(wgmma: bool) -> bool:
        torch._dynamo.graph_break()  # The compiler must not look into this.
        return True

    monkeypatch.setattr(_nvrtc, "_works", works)
    wide, x = BlockConv(CHANNELS, CHANNELS).to(memory_format=LAST), _images(1, 32, 32)
    low = copy.deepcopy(wide).bfloat16()

    def learned(conv: BlockConv) -> list[Tensor]:
        def network(image: Tensor) -> Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                return conv.with_moments(image)[0]

        model = torch.compile(network, backend=backend) if backend else network
        out = model(x)
        return [out, *torch.autograd.grad(out.float().square().sum(), conv.weight)]

    (expected, gradient), (found, ours) = learned(wide), learned(low)
    assert [known["TURNED"] for known in fused] in ([0, 0], [0, 1, 0, 1])
    assert torch.equal(found, expected)
    assert ours.dtype == torch.bfloat16 and torch.equal(ours, gradient.bfloat16())
    assert ours.is_contiguous(memory_format=LAST)


@pytest.mark.parametrize("has_added", [False, True])
def test_a_normalisation_before_it_hands_the_moments_on(
    fused: list[dict[str, int]], monkeypatch: pytest.MonkeyPatch, has_added: bool
) -> None:
    monkeypatch.setattr(_nvrtc, "_works", lambda wgmma: True)
    norm, conv, x, added = NormReLU(CHANNELS), BlockConv(CHANNELS, CHANNELS), _images(1, 32, 32), _images(1, 32, 32)
    with torch.autocast("cpu", torch.bfloat16):
        out, moments, beside = norm.then(conv, x, None, added if has_added else None, besides=True)
        plain = functional.conv2d(functional.relu(nn.BatchNorm2d(CHANNELS)(x)), conv.weight, padding=1)
    assert len(fused) == 1 and beside is x
    assert _apart(out, plain + added if has_added else plain) < 1e-2
    assert (moments is None) == has_added, "of a sum they are not known"
    if moments is not None:
        torch.testing.assert_close(moments[0], out.detach().float().mean((0, 2, 3)), rtol=1e-4, atol=1e-5)


def test_it_is_torchs_own_convolution_otherwise(fused: list[dict[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nvrtc, "_works", lambda wgmma: True)
    conv, x = BlockConv(CHANNELS, CHANNELS), _images(1, 16, 16)
    turned_off = [
        (conv, x.float(), True),  # not in 16 bits yet
        (conv.eval(), x, True),
        (BlockConv(CHANNELS, CHANNELS, stride=2), x, True),
        (BlockConv(CHANNELS, CHANNELS).bfloat16(), x, False),
    ]
    for layer, image, cast in turned_off:
        with torch.autocast("cpu", torch.bfloat16, enabled=cast):
            out, moments = layer.with_moments(image)
            assert torch.equal(out, functional.conv2d(image, layer.weight, None, layer.stride, 1))
        assert moments is None
    assert not fused
    assert {name: tuple(p.shape) for name, p in conv.named_parameters()} == {"weight": (64, 64, 3, 3)}


@pytest.mark.parametrize("added", [False, True])
def test_a_norm_takes_moments_that_come_with_its_input(monkeypatch: pytest.MonkeyPatch, added: bool) -> None:
    plain, layer = nn.BatchNorm2d(CHANNELS), BlockNorm(CHANNELS)
    x, beside = torch.randn(3, CHANNELS, 4, 4), torch.randn(3, CHANNELS, 4, 4)
    moments = torch.stack([x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)])
    expected = functional.relu(plain(x) + (beside if added else 0.0))
    assert not _norm_cuda.takes(x)
    assert torch.equal(layer(x, moments, beside if added else None), expected)
    assert torch.equal(layer.twice(x, moments, beside if added else None)[1], expected)
