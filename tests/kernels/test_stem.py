"""A stem's convolution is torch's, whether or not zeros stand beside its channels."""

import pytest
import torch
from torch.nn import functional

from pencil.kernels import Stem


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("shape", [(3, 1, 1), (7, 2, 3)])
def test_zeros_beside_the_channels_change_nothing(channels: int, shape: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    stem = Stem(channels, 16, *shape, bias=False).double()
    x = torch.randn(4, channels, 16, 16, dtype=torch.float64).contiguous(memory_format=torch.channels_last)
    expected = functional.conv2d(x, stem.weight, stride=shape[1], padding=shape[2])
    found, weight = stem.widened(x), torch.randn_like(expected)
    torch.testing.assert_close(found, expected)
    assert found.is_contiguous(memory_format=torch.channels_last)
    (gradient,), (wanted,) = (torch.autograd.grad((out * weight).sum(), stem.weight) for out in (found, expected))
    torch.testing.assert_close(gradient, wanted)


def test_elsewhere_it_is_torchs_own() -> None:
    stem, x = Stem(3, 8, 3, 1, 1, bias=False), torch.randn(2, 3, 8, 8)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(stem(x), functional.conv2d(x, stem.weight, padding=1))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_on_a_gpu_in_sixteen_bits() -> None:
    torch.manual_seed(0)
    stem = Stem(3, 64, 3, 1, 1, bias=False).cuda()
    x = torch.randn(128, 3, 32, 32, device="cuda").contiguous(memory_format=torch.channels_last)
    with torch.autocast("cuda", torch.bfloat16):
        found = stem(x)
    expected = functional.conv2d(x.bfloat16().double(), stem.weight.bfloat16().double(), padding=1)
    torch.testing.assert_close(found.double(), expected, rtol=2**-8, atol=1e-3)
