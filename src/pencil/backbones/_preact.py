"""Residual networks whose blocks normalise and activate before each convolution (He et al., ECCV 2016)."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from pencil.backbones._init import he_initialise


class PreActBlock(nn.Module):
    """BN, ReLU, 3×3 convolution, twice, added to the input."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inside)
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        same = stride == 1 and inside == outside
        self.projection = None if same else nn.Conv2d(inside, outside, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        active = torch.relu(self.bn1(x))
        # Where the shape changes, the shortcut too starts from the pre-activated input.
        shortcut = x if self.projection is None else self.projection(active)
        hidden: Tensor = self.conv2(torch.relu(self.bn2(self.conv1(active))))
        return hidden + shortcut


class PreActResNet(nn.Module):
    """A 3×3 stem without normalisation, stages that halve the image from the second on, a linear classifier."""

    def __init__(self, channels: int, num_classes: int, *, widths: Sequence[int], blocks: Sequence[int]) -> None:
        super().__init__()
        self.stem = nn.Conv2d(channels, widths[0], 3, 1, 1, bias=False)
        stages = [_stage(widths[0], widths[0], blocks[0], stride=1)]
        stages += [_stage(a, b, n, stride=2) for (a, b), n in zip(pairwise(widths), blocks[1:], strict=True)]
        self.stages = nn.Sequential(*stages)
        self.norm = nn.BatchNorm2d(widths[-1])
        self.classifier = nn.Linear(widths[-1], num_classes)
        he_initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        features = torch.relu(self.norm(self.stages(self.stem(x))))
        logits: Tensor = self.classifier(features.mean(dim=(2, 3)))
        return logits


def _stage(inside: int, outside: int, blocks: int, *, stride: int) -> nn.Sequential:
    rest = (PreActBlock(outside, outside, 1) for _ in range(blocks - 1))
    return nn.Sequential(PreActBlock(inside, outside, stride), *rest)
