"""The fused kernels against torch, run by Triton's interpreter where there is no GPU."""

import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("triton", reason="triton is not installed")

from pencil.backbones._preact import PreActResNet
from pencil.kernels import NormReLU

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the kernels for any precision and device."""
    monkeypatch.setattr(NormReLU, "_fuses", lambda self, x: self.training)


def _images(*shape: int, scale: float = 1.0, shift: float = 0.0) -> Tensor:
    image = torch.randn(shape, device=DEVICE) * scale + shift
    return image.contiguous(memory_format=torch.channels_last).requires_grad_()


def _layers(channels: int) -> tuple[NormReLU, nn.BatchNorm2d]:
    """One in 32 bits, and torch's in 64, to be judged by."""
    plain, layer = nn.BatchNorm2d(channels, device=DEVICE), NormReLU(channels, device=DEVICE)
    nn.init.normal_(plain.weight)
    nn.init.normal_(plain.bias)
    layer.load_state_dict(plain.state_dict())
    return layer, plain.double()


@pytest.mark.parametrize("shape", [(4, 32, 8, 8), (3, 48, 5, 7), (2, 130, 3, 3), (300, 8, 8, 8)])
def test_output_gradients_and_running_statistics_are_those_of_torch(fused: None, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    layer, plain = _layers(shape[1])
    x, weight = _images(*shape, scale=2, shift=50), _images(*shape).detach()
    for _ in range(2):
        out = layer(x)
        seen = torch.autograd.grad((out * weight).sum() + (x**2).sum(), [x, *layer.parameters()])
        expected = torch.relu(plain(x.double()))
        wanted = torch.autograd.grad((expected * weight).sum() + (x**2).sum(), [x, *plain.parameters()])
        torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=1e-4)
        for ours, theirs in zip(seen, wanted, strict=True):
            torch.testing.assert_close(ours.double(), theirs.double(), rtol=1e-4, atol=1e-3)
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(layer.state_dict()[name].double(), value.double(), rtol=1e-5, atol=1e-5)


def test_the_variance_of_values_far_from_zero_is_kept(fused: None) -> None:
    layer = NormReLU(8, device=DEVICE)
    x = _images(64, 8, 16, 16, scale=0.1, shift=1000.0)
    seen = layer(x)
    assert seen.square().mean().item() == pytest.approx(0.5, abs=0.05)


def _preact() -> nn.Module:
    return PreActResNet(3, 4, widths=(16, 32), blocks=(1, 2))


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_network_of_them_learns_as_one_of_plain_layers(monkeypatch: pytest.MonkeyPatch, backend: str | None) -> None:
    images = torch.randn(4, 3, 8, 8, device=DEVICE).contiguous(memory_format=torch.channels_last)

    def gradients(*, fuse: bool, dtype: torch.dtype = torch.float32) -> list[Tensor]:
        monkeypatch.setattr(NormReLU, "_fuses", lambda self, x: self.training and fuse)
        torch.manual_seed(1)
        network = _preact().to(DEVICE, dtype, memory_format=torch.channels_last)
        model = torch.compile(network, backend=backend, fullgraph=True) if backend and fuse else network
        model(images.to(dtype))[:, 0].square().sum().backward()
        return [p.grad.double() for p in network.parameters() if p.grad is not None] + [
            b.double() for b in network.buffers()
        ]

    # A GPU multiplies 32-bit numbers with 11 bits; the few ReLUs this turns are some percent of so small a gradient.
    slack = 1e-4 if DEVICE == "cpu" else 0.2
    for ours, exact in zip(gradients(fuse=True), gradients(fuse=False, dtype=torch.float64), strict=True):
        assert (ours - exact).norm() <= slack * exact.norm() + 1e-6


def test_evaluation_and_other_precisions_use_torch() -> None:
    layer, x = NormReLU(4, dtype=torch.float64), torch.randn(2, 4, 3, 3, dtype=torch.float64)
    torch.testing.assert_close(layer(x), torch.relu(nn.BatchNorm2d(4, dtype=torch.float64)(x)))
    assert layer.eval()(x).shape == x.shape
