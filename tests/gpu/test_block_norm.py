"""The fused normalisation of residual blocks on a real GPU, against torch in 64 bits."""

import pytest
import torch
from torch import Tensor, nn

from pencil.backbones._resnet import BasicBlock, ResNet
from pencil.kernels import BlockNorm, _norm_cuda, _nvrtc, introduce_operators

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability() < (9, 0),
        reason="no GPU here that the kernels were measured on",
    ),
]
LAST = torch.channels_last


def _images(*shape: int, shift: float = 0.0) -> Tensor:
    image = torch.randn(shape, device="cuda") + shift * torch.randn(1, shape[1], 1, 1, device="cuda")
    return image.bfloat16().contiguous(memory_format=LAST)


def _close(found: Tensor, expected: Tensor, relative: float) -> None:
    size = float(expected.detach().double().abs().mean())
    torch.testing.assert_close(found.double(), expected.double(), rtol=relative, atol=1e-3 * size)


def _layers(channels: int, *, relu: bool) -> tuple[BlockNorm, nn.BatchNorm2d]:
    plain, layer = nn.BatchNorm2d(channels, device="cuda"), BlockNorm(channels, relu=relu).cuda()
    nn.init.normal_(plain.weight)
    nn.init.normal_(plain.bias)
    layer.load_state_dict(plain.state_dict())
    return layer, plain.double()


@pytest.mark.parametrize("way", ["plain", "relu", "relu, two gradients", "relu, added", "relu, added, two gradients"])
@pytest.mark.parametrize("batch", [128, 72])
@pytest.mark.parametrize(("channels", "side"), [(64, 32), (128, 16), (256, 8), (512, 4)])
def test_output_gradients_and_running_statistics_are_those_of_torch(
    channels: int, side: int, batch: int, way: str
) -> None:
    torch.manual_seed(0)
    shape, relu = (batch, channels, side, side), "relu" in way
    layer, plain = _layers(channels, relu=relu)
    x, added, grad, other = _images(*shape, shift=1.0), _images(*shape), _images(*shape), _images(*shape)
    assert _norm_cuda.takes(x)
    beside = added.requires_grad_() if "added" in way else None
    given = [x.requires_grad_()] + ([] if beside is None else [beside])
    leaves = [*given, *layer.parameters()]

    def ours() -> list[Tensor]:
        if "two" in way:
            one, two = layer.twice(x, added=beside)
            assert torch.equal(one, two)
            return [one, *torch.autograd.grad([one, two], leaves, [grad, other])]
        one = layer(x, added=beside)
        return [one, *torch.autograd.grad(one, leaves, grad)]

    seen, again = ours(), ours()
    assert all(torch.equal(a, b) for a, b in zip(seen, again, strict=True))

    for _ in range(2):
        expected = plain(x.double()) + (added.double() if "added" in way else 0.0)
    expected = torch.where(seen[0] > 0, expected, 0.0) if relu else expected
    whole = (grad + other if "two" in way else grad).double()
    wanted = [expected, *torch.autograd.grad(expected, [*given, *plain.parameters()], whole)]
    for found, right in zip(seen, wanted, strict=True):
        _close(found, right, 2**-7 if found.dtype == torch.bfloat16 else 1e-3)
    for name, value in plain.state_dict().items():
        _close(layer.state_dict()[name], value, 1e-4)


def test_a_compiled_network_learns_as_one_of_plain_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    images = torch.randn(64, 3, 32, 32, device="cuda").contiguous(memory_format=LAST)
    introduce_operators()

    def results(*, fuse: bool, exact: bool = False) -> list[Tensor]:
        monkeypatch.setattr(_nvrtc, "_works", lambda wgmma: fuse)
        torch.manual_seed(1)
        network = ResNet(3, 10, block=BasicBlock, blocks=(2, 1, 1, 1), small_images=True)
        network = network.to("cuda", torch.float64 if exact else torch.float32, memory_format=LAST)
        model = torch.compile(network, dynamic=False, fullgraph=True) if fuse else network
        with torch.autocast("cuda", torch.bfloat16, enabled=not exact):
            out = model(images.double() if exact else images)
        out.double().square().sum().backward()
        return [p.grad.double() for p in network.parameters() if p.grad is not None] + [
            b.double() for b in network.buffers()
        ]

    right, rounded, found = results(fuse=False, exact=True), results(fuse=False), results(fuse=True)
    for exactly, plain, ours in zip(right, rounded, found, strict=True):
        assert (ours - exactly).norm() <= 2 * (plain - exactly).norm() + 1e-2 * exactly.norm()
