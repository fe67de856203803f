"""A normalisation and the convolution behind it, whose gradient goes through both, against torch in 64 bits."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

pytest.importorskip("triton", reason="triton is not installed")

from pencil.backbones._resnet import BasicBlock, Image
from pencil.kernels import BlockConv, BlockNorm, _conv64, _norm_cuda, _nvrtc

from .conftest import Launch

LAST = torch.channels_last


@pytest.fixture
def launched(emulated_norm: Launch, emulated_conv64: Launch, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Compute as if this were such a GPU; returns what is launched."""
    seen: list[str] = []

    def norm(known: dict[str, int], *args: Any) -> None:
        seen.append(_norm_cuda.name_of(known))
        emulated_norm(known, *args)

    def conv(known: dict[str, int], *args: Any) -> None:
        way = "turned" if known["TURNED"] else "forward"
        seen.append(way + "".join(f" {flag.lower()}" for flag in ("NORM", "ADD", "BOTH") if known[flag]))
        emulated_conv64(known, *args)

    monkeypatch.setattr(_norm_cuda, "_launch", norm)
    monkeypatch.setattr(_conv64, "_launch", conv)
    monkeypatch.setattr(_nvrtc, "processors", lambda device: 2)
    monkeypatch.setattr(_norm_cuda, "BLOCKS", 2)
    monkeypatch.setattr(_norm_cuda, "takes", lambda x: x.dtype == torch.bfloat16 and _nvrtc.available())
    monkeypatch.setattr(
        _conv64, "takes", lambda x, kernel: x.dtype == torch.bfloat16 and _nvrtc.available() and kernel.shape[0] == 64
    )
    return seen


def _allow(monkeypatch: pytest.MonkeyPatch, *, fuse: bool) -> None:
    def works(wgmma: bool) -> bool:
        torch._dynamo.graph_break()  # The compiler must not look into this.
        return fuse

    monkeypatch.setattr(_nvrtc, "_works", works)


@pytest.mark.parametrize(
    ("add", "besides", "given"),
    [(False, False, True), (True, True, True), (False, True, False), (True, False, False)],
)
def test_gradients_of_all_that_goes_in(
    launched: list[str], monkeypatch: pytest.MonkeyPatch, add: bool, besides: bool, given: bool
) -> None:
    torch.manual_seed(0)
    _allow(monkeypatch, fuse=True)
    norm, conv = BlockNorm(64), BlockConv(64, 64)
    nn.init.normal_(norm.weight), nn.init.normal_(norm.bias)
    x, added, grad, other = (torch.randn(2, 64, 16, 16).bfloat16().contiguous(memory_format=LAST) for _ in range(4))
    wanted_of = [x.requires_grad_(), *([added.requires_grad_()] if add else []), *norm.parameters(), conv.weight]
    with torch.autocast("cpu", torch.bfloat16):
        known = torch.stack([x.float().mean((0, 2, 3)), x.float().var((0, 2, 3), unbiased=False)]).detach()
        added_too = added if add else None
        out, moments, beside = norm.then(conv, x, known if given else None, added_too, besides=besides)
    seen = torch.autograd.grad([out, beside] if besides else out, wanted_of, [grad, other] if besides else grad)
    first = ["slab_forward", "forward"] if given else ["slab_moments", "slab_forward", "forward"]
    first = ["forward norm"] if given and not add else first
    assert launched == [*first, "turned norm" + " add" * add + " both" * besides, "slab_backward"]
    assert moments is not None and not moments.requires_grad

    plain = nn.BatchNorm2d(64).double()
    plain.load_state_dict(
        {name: value for name, value in norm.state_dict().items() if "running" not in name}, strict=False
    )
    whole = plain(x.double()) + (added.double() if add else 0.0)
    # The same few of the smallest are let through.
    shown = beside if besides else torch.where(whole > 0, whole, 0.0).bfloat16()
    active = torch.where(shown > 0, whole, 0.0)
    expected = functional.conv2d(active, conv.weight.bfloat16().double(), padding=1)
    both = [expected, active] if besides else expected
    wanted = torch.autograd.grad(
        both, [x, *([added] if add else []), *plain.parameters(), conv.weight],
        [grad.double(), other.double()] if besides else grad.double(),
    )  # fmt: skip
    for ours, theirs in zip((out, *seen), (expected, *wanted), strict=True):
        assert (ours.double() - theirs.double()).norm() < 1e-2 * theirs.double().norm()
    assert torch.equal(norm.num_batches_tracked, torch.tensor(1))
    for name in ("running_mean", "running_var"):
        torch.testing.assert_close(getattr(norm, name).double(), getattr(plain, name), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_blocks_learn_as_blocks_of_plain_layers(
    launched: list[str], monkeypatch: pytest.MonkeyPatch, backend: str | None
) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 64, 16, 16).contiguous(memory_format=LAST)

    def results(dtype: torch.dtype, *, fuse: bool = False) -> list[Tensor]:
        _allow(monkeypatch, fuse=fuse)
        torch.manual_seed(1)
        blocks = BasicBlock(64, 64, 1), BasicBlock(64, 64, 1), BasicBlock(64, 128, 2)
        network = nn.Sequential(*blocks).to(memory_format=LAST)
        network = network.double() if dtype == torch.float64 else network
        model = torch.compile(network, backend=backend, fullgraph=True) if backend and fuse else network
        image = x.to(dtype).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            out = model(Image(image)).finished()
        out.double().square().sum().backward()
        gradients = [p.grad for p in (image, *network.parameters())]
        return [g.double() for g in gradients if g is not None] + [b.double() for b in network.buffers()]

    exact, plain, ours = results(torch.float64), results(torch.bfloat16), results(torch.bfloat16, fuse=True)
    convolved = [one for one in launched if "slab" not in one]
    forward = ["forward", "forward norm", "forward", "forward norm"]
    assert convolved == [*forward, "turned norm", "turned norm add both", "turned norm", "turned"]
    assert len(exact) == len(plain) == len(ours)
    for right, rounded, found in zip(exact, plain, ours, strict=True):
        assert (found - right).norm() <= 2 * (rounded - right).norm() + 1e-3 * right.norm()


def test_what_the_kernel_does_not_take_goes_the_usual_way(launched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _allow(monkeypatch, fuse=True)
    x = torch.randn(2, 64, 16, 16).bfloat16().contiguous(memory_format=LAST)
    for norm, conv, cast in [
        (BlockNorm(64, relu=False), BlockConv(64, 64), True),
        (BlockNorm(64), BlockConv(64, 64, stride=2), True),
        (BlockNorm(64), nn.Conv2d(64, 64, 3, padding=1, bias=False), True),
        (BlockNorm(64), BlockConv(64, 64).bfloat16(), False),
    ]:
        with torch.autocast("cpu", torch.bfloat16, enabled=cast):
            out, _, _ = norm.then(conv, x, None)
            plain = functional.batch_norm(x.float(), None, None, training=True)
            expected = conv((functional.relu(plain) if norm.relu else plain).to(x.dtype))
        torch.testing.assert_close(out, expected, rtol=2**-6, atol=2e-2)
        out.float().sum().backward()
        assert launched and not any("norm" in one for one in launched)
        launched.clear()
