"""The normalisation of a residual block is torch's wherever the kernels do not run."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from pencil.backbones._resnet import BasicBlock, Image, ResNet
from pencil.kernels import BlockNorm


class PlainBlock(nn.Module):
    """The same of torch's layers, under the names that published weights have."""

    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        down = [nn.Conv2d(inside, width, 1, stride, bias=False), nn.BatchNorm2d(width)]
        self.downsample = nn.Sequential(*(down if stride > 1 else []))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.bn2(self.conv2(relu(self.bn1(self.conv1(x)))))
        return relu(hidden + self.downsample(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("stride", [1, 2])
def test_a_block_is_one_of_torchs_layers_and_takes_its_weights(dtype: torch.dtype, stride: int) -> None:
    torch.manual_seed(0)
    plain = PlainBlock(64, 64 * stride, stride)
    for values in [*plain.parameters(), *(b for b in plain.buffers() if b.is_floating_point())]:
        nn.init.uniform_(values, 0.1, 1.0)
    block = BasicBlock(64, 64 * stride, stride)
    block.load_state_dict(plain.state_dict())
    plain, block = plain.to(dtype), block.to(dtype)
    x = torch.randn(4, 64, 6, 6, dtype=dtype, requires_grad=True)
    for training in (True, False):
        plain.train(training), block.train(training)
        out, expected = block(Image(x)).finished(), plain(x)
        assert torch.equal(out, expected)
        weight = torch.randn_like(expected)
        seen = torch.autograd.grad(out, [x, *block.parameters()], weight)
        wanted = torch.autograd.grad(expected, [x, *plain.parameters()], weight)
        assert all(torch.equal(a, b) for a, b in zip(seen, wanted, strict=True))
    assert all(torch.equal(value, block.state_dict()[name]) for name, value in plain.state_dict().items())


def test_without_relu_and_shortcut_it_is_a_batch_norm() -> None:
    plain, layer, x = nn.BatchNorm2d(64), BlockNorm(64, relu=False), torch.randn(3, 64, 4, 4)
    assert torch.equal(layer(x), plain(x)) and torch.equal(layer.twice(x)[1], plain(x))
    assert layer.num_batches_tracked == plain.num_batches_tracked == 2


def test_names_are_those_of_published_weights() -> None:
    names = ResNet(3, 10, block=BasicBlock, blocks=(3, 4, 6, 3), small_images=False).state_dict()
    # 36 convolutions, 36 batch norms of 5 tensors, one classifier of 2.
    assert len(names) == 36 + 36 * 5 + 2
    assert {"bn1.num_batches_tracked", "layer2.0.downsample.1.running_mean", "layer4.2.bn2.weight"} <= set(names)
