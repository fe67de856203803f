"""The gradient of weights for Hopper on a real GPU, against torch in 64 bits."""

import pytest
import torch
from torch import Tensor

from pencil.kernels import BlockConv, _wgrad_cuda

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0), reason="no Hopper GPU here"
    ),
]
LAST = torch.channels_last
SIZES = [
    (128, 64, 32, 32),
    (72, 64, 32, 32),
    (128, 128, 16, 16),
    (200, 128, 16, 16),
    (16, 64, 64, 64),
    (33, 128, 32, 32),
]


def _images(*shape: int) -> Tensor:
    return torch.randn(shape, device="cuda").bfloat16().contiguous(memory_format=LAST)


@pytest.mark.parametrize("size", SIZES)
def test_it_is_torchs_gradient_and_always_the_same(size: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x, grad, channels = _images(*size), _images(*size), size[1]
    assert _wgrad_cuda.takes(x, torch.empty(channels, channels, 3, 3))
    found = _wgrad_cuda.weight_gradient(grad, x, torch.float32)
    exact = torch.nn.grad.conv2d_weight(x.double(), (channels, channels, 3, 3), grad.double(), padding=1)
    assert (found - exact).norm() < 1e-5 * exact.norm()
    for _ in range(20):
        assert torch.equal(_wgrad_cuda.weight_gradient(grad, x, torch.float32), found)
    assert torch.equal(_wgrad_cuda.weight_gradient(grad, x, torch.bfloat16), found.bfloat16())


@pytest.mark.parametrize("compiled", [False, True])
def test_a_layer_of_128_channels_learns_as_torchs_own(compiled: bool) -> None:
    torch.manual_seed(0)
    conv = BlockConv(128, 128).to("cuda", memory_format=LAST)
    x, grad = _images(128, 128, 16, 16).requires_grad_(), _images(128, 128, 16, 16)

    def ours(image: Tensor) -> Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            return conv.with_moments(image)[0]

    out = (torch.compile(ours, fullgraph=True, dynamic=False) if compiled else ours)(x)
    with torch.autocast("cuda", torch.bfloat16):
        plain = conv(x)
    found, expected = (torch.autograd.grad(result, [x, conv.weight], grad) for result in (out, plain))
    for one, other in zip((out, *found), (plain, *expected), strict=True):
        assert (one.double() - other.double()).norm() < 4e-3 * other.double().norm()
