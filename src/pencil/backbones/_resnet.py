"""Residual networks for resnet34 and resnet50 (He et al., CVPR 2016).

Submodules carry the names that published weights use: conv1, bn1, layer1 … layer4, downsample, fc.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from pencil.backbones._init import he_initialise
from pencil.kernels import BlockConv, BlockNorm, Stem

Ways = tuple[Tensor, Tensor]
"""What a block is given, for its convolutions and for its shortcut: twice the same, each with a gradient of its own."""


class BasicBlock(nn.Module):
    """Two 3×3 convolutions, added to the input."""

    expansion = 1

    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = BlockConv(inside, width, stride)
        self.bn1 = BlockNorm(width)
        self.conv2 = BlockConv(width, width)
        self.bn2 = BlockNorm(width)
        self.downsample = _shortcut(inside, width, stride)

    def forward(self, x: Ways) -> Ways:
        hidden = self.bn1(*self.conv1.with_moments(x[0]))
        return self.bn2.twice(*self.conv2.with_moments(hidden), self.downsample(x[1]))


class Bottleneck(nn.Module):
    """1×1 down, 3×3, 1×1 up to four times the width, added to the input."""

    expansion = 4

    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        outside = width * self.expansion
        self.conv1 = nn.Conv2d(inside, width, 1, bias=False)
        self.bn1 = BlockNorm(width)
        # The stride sits in the 3×3 convolution: published weights are trained so.
        self.conv2 = BlockConv(width, width, stride)
        self.bn2 = BlockNorm(width)
        self.conv3 = nn.Conv2d(width, outside, 1, bias=False)
        self.bn3 = BlockNorm(outside)
        self.downsample = _shortcut(inside, outside, stride)

    def forward(self, x: Ways) -> Ways:
        hidden = self.bn2(*self.conv2.with_moments(self.bn1(self.conv1(x[0]))))
        return self.bn3.twice(self.conv3(hidden), added=self.downsample(x[1]))


class ResNet(nn.Module):
    """A stem, four stages that double the width and, from the second on, halve the image, a linear classifier."""

    def __init__(
        self,
        channels: int,
        num_classes: int,
        *,
        block: type[BasicBlock] | type[Bottleneck],
        blocks: Sequence[int],
        small_images: bool,
    ) -> None:
        super().__init__()
        self.conv1 = Stem(channels, 64, *((3, 1, 1) if small_images else (7, 2, 3)), bias=False)
        self.bn1 = BlockNorm(64)
        self.maxpool = nn.Identity() if small_images else nn.MaxPool2d(3, 2, 1)
        self.layer1 = _stage(block, 64, 64, blocks[0], stride=1)
        self.layer2 = _stage(block, 64 * block.expansion, 128, blocks[1], stride=2)
        self.layer3 = _stage(block, 128 * block.expansion, 256, blocks[2], stride=2)
        self.layer4 = _stage(block, 256 * block.expansion, 512, blocks[3], stride=2)
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        he_initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        features, _ = self.layer4(self.layer3(self.layer2(self.layer1(self._stem(x)))))
        logits: Tensor = self.fc(features.mean(dim=(2, 3)))
        return logits

    def _stem(self, x: Tensor) -> Ways:
        if isinstance(self.maxpool, nn.Identity):
            return self.bn1.twice(self.conv1(x))
        pooled = self.maxpool(self.bn1(self.conv1(x)))
        return pooled, pooled


def _shortcut(inside: int, outside: int, stride: int) -> nn.Sequential:
    if stride == 1 and inside == outside:
        return nn.Sequential()
    return nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), BlockNorm(outside, relu=False))


def _stage(
    block: type[BasicBlock] | type[Bottleneck], inside: int, width: int, blocks: int, *, stride: int
) -> nn.Sequential:
    rest = (block(width * block.expansion, width, 1) for _ in range(blocks - 1))
    return nn.Sequential(block(inside, width, stride), *rest)
