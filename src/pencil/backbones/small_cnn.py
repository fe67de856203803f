"""A small convolutional network for images from 8×8 to about 64×64 that trains in seconds on a CPU."""

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from pencil.backbones._init import he_initialise
from pencil.backbones._spec import image_channels
from pencil.errors import PencilError
from pencil.types import InputSpec

LARGEST_FINAL = 4
"""The image is halved until its shorter side has at most this many pixels."""


class SmallCNN(nn.Module):
    """One convolution at full resolution, two after each halving, a linear classifier over all that remains."""

    def __init__(self, channels: int, num_classes: int, *, widths: Sequence[int], final: Sequence[int]) -> None:
        super().__init__()
        blocks = [_block(channels, widths[0], stride=1)]
        for inside, outside in pairwise(widths):
            blocks += [_block(inside, outside, stride=2), _block(outside, outside, stride=1)]
        self.blocks = nn.Sequential(*blocks)
        # Not the mean over the image: where a stroke lies tells small images apart, and this learns faster.
        self.classifier = nn.Linear(widths[-1] * math.prod(final), num_classes)
        he_initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.blocks(x).flatten(1))
        return logits


def build(spec: InputSpec, num_classes: int, *, width: int = 32) -> nn.Module:
    """Make the network; `width` is the number of channels at full resolution, doubled at each halving up to 4×."""
    if width < 1:
        raise PencilError(f"small_cnn needs width ≥ 1, not {width}.")
    channels = image_channels(spec, "small_cnn", smallest=4)
    final, halvings = spec.shape[1:], 0
    while halvings == 0 or min(final) > LARGEST_FINAL:
        final, halvings = tuple(math.ceil(side / 2) for side in final), halvings + 1
    widths = [min(width * 2**i, width * 4) for i in range(halvings + 1)]
    return SmallCNN(channels, num_classes, widths=widths, final=final)


def _block(inside: int, outside: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(inplace=True)
    )
