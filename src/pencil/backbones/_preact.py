"""Residual networks whose blocks normalise and activate before each convolution (He et al., ECCV 2016)."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import Tensor, nn

from pencil.backbones._init import he_initialise
from pencil.kernels import BlockConv, NormReLU, Stem


class PreActBlock(nn.Module):
    """BN, ReLU, 3×3 convolution, twice, added to the input."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.bn1 = NormReLU(inside)
        self.conv1 = BlockConv(inside, outside, stride)
        self.bn2 = NormReLU(outside)
        self.conv2 = BlockConv(outside, outside)
        same = stride == 1 and inside == outside
        self.projection = None if same else nn.Conv2d(inside, outside, 1, stride, bias=False)

    def forward(self, x: Tensor, moments: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the output, and its moments where the last convolution took them along."""
        if self.projection is None:
            hidden, inner, shortcut = self.bn1.then(self.conv1, x, moments, besides=True)
        else:
            # Where the shape changes, the shortcut too starts from the pre-activated input.
            active = self.bn1(x, moments=moments)
            hidden, inner, shortcut = self.conv1(active), None, self.projection(active)
        out, outer, _ = self.bn2.then(self.conv2, hidden, inner, added=shortcut)
        return out, outer


class PreActResNet(nn.Module):
    """A 3×3 stem without normalisation, stages that halve the image from the second on, a linear classifier."""

    def __init__(
        self,
        channels: int,
        num_classes: int,
        *,
        widths: Sequence[int],
        blocks: Sequence[int],
        initialise: Callable[[nn.Module], None] = he_initialise,
        final_norm: bool = True,
    ) -> None:
        super().__init__()
        self.stem = Stem(channels, widths[0], 3, 1, 1, bias=False)
        stages = [_stage(widths[0], widths[0], blocks[0], stride=1)]
        stages += [_stage(a, b, n, stride=2) for (a, b), n in zip(pairwise(widths), blocks[1:], strict=True)]
        self.stages = nn.ModuleList(stages)
        self.norm = NormReLU(widths[-1]) if final_norm else None
        self.classifier = nn.Linear(widths[-1], num_classes)
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        hidden, moments = self.stem(x), None
        for stage in self.stages:
            for block in stage.children():
                hidden, moments = block(hidden, moments)
        features = hidden if self.norm is None else self.norm(hidden, moments=moments)
        logits: Tensor = self.classifier(features.mean(dim=(2, 3)))
        return logits


def _stage(inside: int, outside: int, blocks: int, *, stride: int) -> nn.ModuleList:
    rest = (PreActBlock(outside, outside, 1) for _ in range(blocks - 1))
    return nn.ModuleList([PreActBlock(inside, outside, stride), *rest])
