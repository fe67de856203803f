"""The normalisation in CUDA C++, run on the CPU by an emulation of a GPU's threads, against torch in 64 bits."""

import pytest
import torch
from torch import Tensor, nn

from pencil.backbones._resnet import BasicBlock, Image
from pencil.kernels import BlockNorm, _norm_cuda, _nvrtc

from .conftest import WAYS, Launch

EPS = 1e-2


@pytest.fixture(autouse=True)
def few_blocks(emulated_norm: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    """So few that threads go round several times, and the last slab is short."""
    monkeypatch.setattr(_norm_cuda, "_launch", emulated_norm)
    monkeypatch.setattr(_norm_cuda, "BLOCKS", 5)


def _images(*shape: int, shift: float = 0.0) -> Tensor:
    image = torch.randn(shape) + shift * torch.randn(1, shape[1], 1, 1)
    return image.bfloat16().contiguous(memory_format=torch.channels_last)


def _wide(values: Tensor) -> Tensor:
    return values.double().view(1, -1, 1, 1)


def _close(found: Tensor, expected: Tensor, relative: float = 2**-8, absolute: float = 1e-4) -> None:
    size = float(expected.detach().double().abs().mean())
    torch.testing.assert_close(found.double(), expected.double(), rtol=relative, atol=absolute * size)


def _check(shape: tuple[int, ...], way: str, shift: float = 1.0) -> None:
    torch.manual_seed(0)
    channels, rows, axes = shape[1], shape[0] * shape[2] * shape[3], (0, 2, 3)
    relu, add, both = "relu" in way, "added" in way, "two" in way
    x, added, grad, other = _images(*shape, shift=shift), _images(*shape), _images(*shape), _images(*shape)
    weight, bias = torch.randn(channels), torch.randn(channels)
    running_mean, running_var, batches = torch.randn(channels), torch.rand(channels), torch.tensor(4)
    old_mean, old_var = running_mean.double(), running_var.double()
    running = (running_mean, running_var, batches, 0.1, EPS)
    y, moments = _norm_cuda.forward(x, None, added if add else None, weight, bias, *running, relu)

    wide = x.double()
    mean, variance = wide.mean(axes), wide.var(axes, unbiased=False)
    normal = (wide - _wide(mean)) / (_wide(variance) + EPS).sqrt()
    expected = normal * _wide(weight) + _wide(bias) + (added.double() if add else 0.0)
    _close(y, expected.relu() if relu else expected)
    _close(moments[0], mean, 1e-5, 1e-5)
    _close(moments[1], variance, 2e-5, 1e-5)
    _close(running_mean, 0.9 * old_mean + 0.1 * mean, 1e-5, 1e-5)
    _close(running_var, 0.9 * old_var + 0.1 * variance * rows / (rows - 1), 2e-5, 1e-5)
    assert batches == 5

    shown = y if add else None
    grad_x, passed, sums = _norm_cuda.backward(
        grad, other if both else None, shown, x, moments, weight, bias, EPS, relu
    )
    whole = grad + other if both else grad
    let_through = torch.where(y > 0, whole, 0.0) if relu else whole
    assert torch.equal(passed, let_through) if add or both else passed.numel() == 0
    let = let_through.double()
    slope, product = _wide(weight) / (_wide(variance) + EPS).sqrt(), (let * normal).mean(axes)
    _close(grad_x, slope * (let - _wide(let.mean(axes)) - normal * _wide(product)), absolute=1e-4 * max(shift, 1.0))
    _close(sums[0], product * rows, 1e-4)
    _close(sums[1], let.sum(axes), 1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_normalisation_and_its_gradients(way: str) -> None:
    _check((9, 64, 16, 17), way)


def test_several_slices_of_channels() -> None:
    _check((3, 192, 5, 5), "relu, added, two gradients")


def test_more_slabs_than_threads_take_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_norm_cuda, "BLOCKS", 66)
    _check((2, 64, 3, 11), "relu, added, two gradients")


def test_a_mean_far_from_zero() -> None:
    _check((5, 64, 16, 16), "relu", shift=50.0)


@pytest.mark.parametrize(("relu", "add"), [(False, False), (True, False), (True, True)])
def test_moments_that_are_known_are_not_taken_again(
    emulated_norm: Launch, monkeypatch: pytest.MonkeyPatch, relu: bool, add: bool
) -> None:
    x, added = _images(9, 64, 16, 17, shift=1.0), _images(9, 64, 16, 17) if add else None
    weight, bias = torch.randn(64), torch.randn(64)
    ours, theirs = ([torch.zeros(64), torch.ones(64), torch.tensor(4)] for _ in range(2))
    expected, moments = _norm_cuda.forward(x, None, added, weight, bias, *ours, 0.1, EPS, relu)
    launched: list[int] = []
    monkeypatch.setattr(
        _norm_cuda, "_launch", lambda known, *args: (launched.append(known["STAGE"]), emulated_norm(known, *args))
    )
    found, same = _norm_cuda.forward(x, moments, added, weight, bias, *theirs, 0.1, EPS, relu)
    assert launched == [2]
    assert torch.equal(found, expected) and torch.equal(same, moments) and same is not moments
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_what_is_no_number_stays_none() -> None:
    x = _images(2, 64, 4, 4)
    x[1, 3, 2, 2] = torch.nan
    running = (torch.zeros(64), torch.ones(64), torch.tensor(0), 0.1, EPS)
    y, moments = _norm_cuda.forward(x, None, None, torch.ones(64), torch.zeros(64), *running, True)
    lost = torch.arange(64) == 3
    assert torch.equal(y.isnan().all((0, 2, 3)), lost) and torch.equal(y.isnan().any((0, 2, 3)), lost)
    assert torch.equal(moments[1].isnan(), lost) and torch.equal(running[1].isnan(), lost)
    grad_x, *_ = _norm_cuda.backward(
        _images(2, 64, 4, 4), None, None, x, moments, torch.ones(64), torch.zeros(64), EPS, True
    )
    assert torch.equal(grad_x.isnan().any((0, 2, 3)), lost)


def test_a_layer_hands_its_result_out_twice_and_adds_what_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_norm_cuda, "takes", lambda x: x.dtype == torch.bfloat16)
    torch.manual_seed(0)
    layer, plain = BlockNorm(64), nn.BatchNorm2d(64)
    nn.init.normal_(plain.weight)
    nn.init.normal_(plain.bias)
    layer.load_state_dict(plain.state_dict())
    plain.double()
    x, added, grad, other = (_images(5, 64, 6, 6) for _ in range(4))
    given = [x.requires_grad_(), added.requires_grad_()]
    one, two = layer.twice(x, added=added)
    assert torch.equal(one, two) and one.data_ptr() == two.data_ptr()
    seen = torch.autograd.grad([one, two], [*given, *layer.parameters()], [grad, other])

    whole = plain(x.double()) + added.double()
    expected = torch.where(one > 0, whole, 0.0)  # The same few of the smallest are let through.
    wanted = torch.autograd.grad(expected, [*given, *plain.parameters()], (grad + other).double())
    for ours, theirs in zip((one, *seen), (expected, *wanted), strict=True):
        _close(ours, theirs, 2**-7, 1e-3)
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(layer.state_dict()[name].double(), value.double(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_blocks_of_them_learn_as_blocks_of_plain_layers(monkeypatch: pytest.MonkeyPatch, backend: str | None) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 64, 6, 6).contiguous(memory_format=torch.channels_last)

    def results(dtype: torch.dtype, *, fuse: bool = False) -> list[Tensor]:
        def works(wgmma: bool) -> bool:
            torch._dynamo.graph_break()  # The compiler must not look into this.
            return fuse

        monkeypatch.setattr(_norm_cuda, "takes", lambda x: x.dtype == torch.bfloat16 and _nvrtc.available())
        monkeypatch.setattr(_nvrtc, "_works", works)
        torch.manual_seed(1)
        network = nn.Sequential(BasicBlock(64, 64, 1), BasicBlock(64, 128, 2)).to(memory_format=torch.channels_last)
        network = network.double() if dtype == torch.float64 else network
        model = torch.compile(network, backend=backend, fullgraph=True) if backend and fuse else network
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            out = model(Image(x.to(dtype))).finished()
        out.double().square().sum().backward()
        return [p.grad.double() for p in network.parameters() if p.grad is not None] + [
            b.double() for b in network.buffers()
        ]

    exact, plain, ours = results(torch.float64), results(torch.bfloat16), results(torch.bfloat16, fuse=True)
    assert not all(torch.equal(a, b) for a, b in zip(plain, ours, strict=True))
    for right, rounded, found in zip(exact, plain, ours, strict=True):
        assert (found - right).norm() <= 2 * (rounded - right).norm() + 1e-3 * right.norm()
