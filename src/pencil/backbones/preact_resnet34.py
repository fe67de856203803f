"""PreAct ResNet-34 for small images: 4 stages of 3, 4, 6 and 3 pre-activation blocks, 21.3 M parameters."""

from torch import nn

from pencil.backbones._preact import PreActResNet
from pencil.backbones._spec import image_channels
from pencil.types import InputSpec


def build(spec: InputSpec, num_classes: int) -> nn.Module:
    """Make the network."""
    channels = image_channels(spec, "preact_resnet34", smallest=8)
    return PreActResNet(channels, num_classes, widths=(64, 128, 256, 512), blocks=(3, 4, 6, 3))
