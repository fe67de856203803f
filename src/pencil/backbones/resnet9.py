"""A wide and shallow residual network for small images, 6.6 M parameters at 32×32: few, large kernels suit a GPU.

Its shape follows what public speed records on CIFAR-10 share: convolutions before pooling, two residual blocks.
"""

import torch
from torch import Tensor, nn

from pencil.backbones._init import he_initialise
from pencil.backbones._spec import image_channels
from pencil.errors import PencilError
from pencil.kernels import NormReLU, Stem
from pencil.types import InputSpec

SMALLEST_POOLED = 8
"""Images are halved while their shorter side has at least this many pixels."""
LOGIT_SCALE = 0.125
"""Keeps the first outputs near zero, since the last layer sees the largest of many values."""


class ConvNorm(nn.Module):
    """3×3 convolution, the largest of four neighbours where it halves the image, BN and ReLU."""

    def __init__(self, inside: int, outside: int, *, halves: bool = False) -> None:
        super().__init__()
        self.conv = Stem(inside, outside, 3, 1, 1, bias=False)
        self.pool = nn.MaxPool2d(2) if halves else nn.Identity()
        self.norm = NormReLU(outside)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(self.pool(self.conv(x)))
        return out


class Residual(nn.Module):
    """Two convolutions, added to the input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = ConvNorm(width, width), ConvNorm(width, width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.second(self.first(x))
        return out


class ResNet9(nn.Module):
    """A stem, three widenings of which the first and last carry a residual block, a linear classifier."""

    def __init__(self, channels: int, num_classes: int, *, width: int, side: int) -> None:
        super().__init__()
        halvings = [side // 2**n >= SMALLEST_POOLED for n in range(3)]
        self.stem = ConvNorm(channels, width)
        self.body = nn.Sequential(
            ConvNorm(width, 2 * width, halves=halvings[0]),
            Residual(2 * width),
            ConvNorm(2 * width, 4 * width, halves=halvings[1]),
            ConvNorm(4 * width, 8 * width, halves=halvings[2]),
            Residual(8 * width),
        )
        self.classifier = nn.Linear(8 * width, num_classes)
        he_initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        features = torch.amax(self.body(self.stem(x)), dim=(2, 3))
        logits: Tensor = self.classifier(features) * LOGIT_SCALE
        return logits


def build(spec: InputSpec, num_classes: int, *, width: int = 64) -> nn.Module:
    """Make the network; `width` is the number of channels at full resolution, doubled three times."""
    if width < 1:
        raise PencilError(f"resnet9 needs width ≥ 1, not {width}.")
    channels = image_channels(spec, "resnet9", smallest=4)
    return ResNet9(channels, num_classes, width=width, side=min(spec.shape[1:]))
