"""Residual networks for resnet34 and resnet50 (He et al., CVPR 2016).

Submodules carry the names that published weights use: conv1, bn1, layer1 … layer4, downsample, fc.
"""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor, nn

from pencil.backbones._init import he_initialise
from pencil.kernels import BlockConv, BlockNorm, Stem, convolved


class Image(NamedTuple):
    """What a block is given: an image that is still to be normalised, added to and activated, or one that is done.

    So the last normalisation of a block meets the first convolution of the next, which can be computed together.
    """

    x: Tensor
    moments: Tensor | None = None
    added: Tensor | None = None
    norm: BlockNorm | None = None

    def into(self, conv: nn.Conv2d) -> tuple[Tensor, Tensor | None, Tensor]:
        """Return the image convolved, the moments of that where they are known, and the image itself."""
        if self.norm is None:
            return *convolved(conv, self.x), self.x
        return self.norm.then(conv, self.x, self.moments, self.added, besides=True)

    def finished(self) -> Tensor:
        """Return the image itself."""
        return self.x if self.norm is None else self.norm(self.x, self.moments, self.added)


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

    def forward(self, image: Image) -> Image:
        hidden, moments, beside = image.into(self.conv1)
        out, moments, _ = self.bn1.then(self.conv2, hidden, moments)
        return Image(out, moments, self.downsample(beside), self.bn2)


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

    def forward(self, image: Image) -> Image:
        hidden, moments, beside = image.into(self.conv1)
        hidden, moments, _ = self.bn1.then(self.conv2, hidden, moments)
        out, moments, _ = self.bn2.then(self.conv3, hidden, moments)
        return Image(out, moments, self.downsample(beside), self.bn3)


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
        image: Image = self.layer4(self.layer3(self.layer2(self.layer1(self._stem(x)))))
        logits: Tensor = self.fc(image.finished().mean(dim=(2, 3)))
        return logits

    def _stem(self, x: Tensor) -> Image:
        if isinstance(self.maxpool, nn.Identity):
            return Image(*self.conv1.with_moments(x), norm=self.bn1)
        return Image(self.maxpool(self.bn1(self.conv1(x))))


def _shortcut(inside: int, outside: int, stride: int) -> nn.Sequential:
    if stride == 1 and inside == outside:
        return nn.Sequential()
    return nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), BlockNorm(outside, relu=False))


def _stage(
    block: type[BasicBlock] | type[Bottleneck], inside: int, width: int, blocks: int, *, stride: int
) -> nn.Sequential:
    rest = (block(width * block.expansion, width, 1) for _ in range(blocks - 1))
    return nn.Sequential(block(inside, width, stride), *rest)
