"""PreAct ResNet-34 for small images: 4 stages of 3, 4, 6 and 3 pre-activation blocks, 21.3 M parameters."""

from torch import nn

from pencil.backbones._init import find_start
from pencil.backbones._preact import PreActResNet
from pencil.backbones._spec import image_channels
from pencil.types import InputSpec


def build(spec: InputSpec, num_classes: int, *, start: str = "he", final_norm: bool = True) -> nn.Module:
    """Make the network; `start` as for preact_resnet32, `final_norm` says whether the last features are normalised.

    He et al. normalise and activate them before the mean that the classifier sees; some public versions do not.
    """
    channels = image_channels(spec, "preact_resnet34", smallest=8)
    initialise = find_start(start, "preact_resnet34")
    widths, blocks = (64, 128, 256, 512), (3, 4, 6, 3)
    return PreActResNet(
        channels, num_classes, widths=widths, blocks=blocks, initialise=initialise, final_norm=final_norm
    )
