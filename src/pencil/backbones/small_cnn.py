"""A small convolutional network for images from 8×8 to about 64×64 that trains in seconds on a CPU."""

from itertools import pairwise

from torch import Tensor, nn

from pencil.backbones._init import he_initialise
from pencil.backbones._spec import image_channels
from pencil.errors import PencilError
from pencil.types import InputSpec

LARGEST_FINAL = 4
"""Stages halve the image until its shorter side is at most this."""


class SmallCNN(nn.Module):
    """One convolution at full resolution, two after each halving, the mean over the image, a linear classifier."""

    def __init__(self, channels: int, num_classes: int, widths: list[int]) -> None:
        super().__init__()
        blocks = [_block(channels, widths[0], stride=1)]
        for inside, outside in pairwise(widths):
            blocks += [_block(inside, outside, stride=2), _block(outside, outside, stride=1)]
        self.blocks = nn.Sequential(*blocks)
        self.classifier = nn.Linear(widths[-1], num_classes)
        he_initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.blocks(x).mean(dim=(2, 3)))
        return logits


def build(spec: InputSpec, num_classes: int, *, width: int = 32) -> nn.Module:
    """Make the network; `width` is the number of channels at full resolution, doubled at each halving up to 4×."""
    if width < 1:
        raise PencilError(f"small_cnn needs width ≥ 1, not {width}.")
    channels = image_channels(spec, "small_cnn", smallest=4)
    return SmallCNN(channels, num_classes, [min(width * 2**i, width * 4) for i in range(_halvings(spec) + 1)])


def _halvings(spec: InputSpec) -> int:
    side, count = min(spec.shape[1:]), 1
    while (side + 1) // 2 > LARGEST_FINAL:
        side, count = (side + 1) // 2, count + 1
    return count


def _block(inside: int, outside: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(inplace=True)
    )
