"""The convolution for Hopper on a real GPU, against torch in 64 bits."""

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from pencil.backbones._preact import PreActBlock
from pencil.backbones._resnet import BasicBlock, Image
from pencil.kernels import BlockConv, _conv64, _wgrad_cuda, introduce_operators

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0), reason="no Hopper GPU here"
    ),
]
LAST = torch.channels_last
FIRST_IN_ITS_THREAD = """
import torch
from torch import nn
from pencil.kernels import BlockConv, BlockNorm, NormReLU

way, channels = "{way}", 32 if "{way}" == "norm and conv" else 64
x = torch.randn(128, channels, 32, 32, device="cuda").bfloat16().contiguous(memory_format=torch.channels_last)
x.requires_grad_()
with torch.autocast("cuda", torch.bfloat16):
    if way == "conv":
        out, moments = BlockConv(64, 64).cuda().with_moments(x)
        assert moments is not None
    elif way == "norm":
        out = BlockNorm(64).cuda()(x)
    else:
        out, moments, _ = NormReLU(32).cuda().then(nn.Conv2d(32, 32, 3, 1, 1, bias=False).cuda(), x, None)
        assert moments is not None
gradient, = torch.autograd.grad(out, x, torch.ones_like(out))
torch.cuda.synchronize()
assert gradient.isfinite().all() and gradient.abs().sum() > 0
"""


def _images(*shape: int) -> Tensor:
    return torch.randn(shape, device="cuda").bfloat16().contiguous(memory_format=LAST)


def _apart(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm())


@pytest.mark.parametrize(("batch", "height", "width"), [(128, 32, 32), (72, 32, 32), (320, 16, 16), (16, 64, 64)])
def test_output_moments_and_gradients_are_those_of_torch(batch: int, height: int, width: int) -> None:
    torch.manual_seed(0)
    layer = BlockConv(64, 64).cuda()
    x, grad = _images(batch, 64, height, width).requires_grad_(), _images(batch, 64, height, width)
    assert _conv64.takes(x, layer.weight)

    def ours() -> list[Tensor]:
        with torch.autocast("cuda", torch.bfloat16):
            out, moments = layer.with_moments(x)
        assert moments is not None
        return [out, *torch.autograd.grad(out, [x, layer.weight], grad), moments]

    seen = ours()
    for _ in range(3):
        assert all(torch.equal(one, again) for one, again in zip(seen, ours(), strict=True))
    weight = layer.weight.detach().bfloat16().double().requires_grad_()
    expected = functional.conv2d(x.double(), weight, padding=1)
    wanted = [expected, *torch.autograd.grad(expected, [x, weight], grad.double())]
    assert seen[2].dtype == torch.float32
    for found, right in zip(seen, wanted, strict=False):
        assert _apart(found, right) < 3e-3
    wide = seen[0].detach().double()
    torch.testing.assert_close(seen[3][0].double(), wide.mean((0, 2, 3)), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(seen[3][1].double(), wide.var((0, 2, 3), unbiased=False), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("batch", "size"), [(128, 32), (72, 32), (320, 16)])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("add", [False, True])
def test_a_gradient_through_the_normalisation_before(add: bool, both: bool, batch: int, size: int) -> None:
    torch.manual_seed(0)
    grad, other, x, y = (_images(batch, 64, size, size) for _ in range(4))
    kernel = (0.1 * _images(64, 64, 3, 3)).contiguous(memory_format=LAST)
    moments, weight, bias = (
        torch.rand(2, 64, device="cuda"),
        torch.rand(64, device="cuda"),
        torch.randn(64, device="cuda"),
    )
    given = (grad, other if both else None, y if add else None, kernel, x, moments, weight, bias, 1e-5)
    passed, partial = _conv64.norm_gradient(*given)
    wide = moments.double()[:, :, None, None]
    away = x.double() - wide[0]
    shown = (
        y.double()
        if add
        else weight.double()[:, None, None] * away / (wide[1] + 1e-5).sqrt() + bias.double()[:, None, None]
    )
    expected = functional.conv_transpose2d(grad.double(), kernel.double(), padding=1)
    expected = torch.where(shown > 0, expected + (other.double() if both else 0.0), 0.0)
    assert _apart(passed, expected) < 4e-3
    sums = torch.stack([(passed.double() * away).sum((0, 2, 3)), passed.double().sum((0, 2, 3))])
    assert _apart(partial.sum(0), sums) < 1e-4
    for _ in range(3):
        again = _conv64.norm_gradient(*given)
        assert torch.equal(again[0], passed) and torch.equal(again[1], partial)


@pytest.mark.parametrize("compiled", [False, True])
def test_blocks_learn_as_those_of_plain_layers(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    torch.manual_seed(0)
    x, grad = _images(128, 64, 32, 32), _images(128, 64, 32, 32)
    blocks = nn.Sequential(BasicBlock(64, 64, 1), BasicBlock(64, 64, 1)).to("cuda", memory_format=LAST)
    introduce_operators()
    takes = _conv64.takes

    def results(block: nn.Module, *, exact: bool = False, fuse: bool = True) -> list[Tensor]:
        monkeypatch.setattr(_conv64, "takes", takes if fuse else lambda x, kernel: False)
        block = copy.deepcopy(block).to(torch.float64 if exact else torch.float32)
        model = torch.compile(block, dynamic=False, fullgraph=True) if compiled and fuse else block
        image = (x.double() if exact else x.clone()).requires_grad_()
        with torch.autocast("cuda", torch.bfloat16, enabled=not exact):
            out = model(Image(image)).finished()
        out.backward(grad.to(out.dtype))
        found = [out.detach(), image.grad, *(p.grad for p in block.parameters()), *block.buffers()]
        return [tensor.double() for tensor in found if tensor is not None]

    right, rounded, found = results(blocks, exact=True, fuse=False), results(blocks, fuse=False), results(blocks)
    assert len(right) == len(found) == 2 + 2 * (6 + 6)
    again = results(blocks)
    assert all(torch.equal(one, other) for one, other in zip(found, again, strict=True)), "the same to the bit"
    for exactly, plain, ours in zip(right, rounded, found, strict=True):
        assert (ours - exactly).norm() <= 2 * (plain - exactly).norm() + 1e-3 * exactly.norm()


def test_a_block_that_normalises_first_learns_as_one_of_plain_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    x, grad = _images(128, 64, 32, 32), _images(128, 64, 32, 32)
    block = PreActBlock(64, 64, 1).to("cuda", memory_format=LAST)
    takes = _conv64.takes, _wgrad_cuda.takes

    def results(*, exact: bool = False, fuse: bool = False) -> list[Tensor]:
        for kernels, own in zip((_conv64, _wgrad_cuda), takes, strict=True):
            monkeypatch.setattr(kernels, "takes", own if fuse else lambda x, kernel: False)
        own_block = copy.deepcopy(block).to(torch.float64 if exact else torch.float32)
        image = (x.double() if exact else x.clone()).requires_grad_()
        with torch.autocast("cuda", torch.bfloat16, enabled=not exact):
            out, _ = own_block(image)
        out.backward(grad.to(out.dtype))
        found = [out.detach(), image.grad, *(p.grad for p in own_block.parameters()), *own_block.buffers()]
        return [tensor.double() for tensor in found if tensor is not None]

    right, rounded, found = results(exact=True), results(), results(fuse=True)
    assert len(right) == len(found) == 2 + 6 + 6
    assert any(not torch.equal(a, b) for a, b in zip(rounded, found, strict=True)), "other kernels"
    for exactly, plain, ours in zip(right, rounded, found, strict=True):
        assert (ours - exactly).norm() <= 2 * (plain - exactly).norm() + 1e-3 * exactly.norm()


@pytest.mark.parametrize("way", ["conv", "norm", "norm and conv"])
def test_the_first_thing_that_autograds_thread_does_may_be_a_kernel(way: str, place: Path) -> None:
    code = FIRST_IN_ITS_THREAD.replace("{way}", way)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
