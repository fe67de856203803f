"""PreAct ResNet-32, the paper's CIFAR-10 network: 3 stages of 5 pre-activation blocks, 1.86 M parameters."""

from torch import nn

from pencil.backbones._preact import PreActResNet
from pencil.backbones._spec import image_channels
from pencil.types import InputSpec


def build(spec: InputSpec, num_classes: int) -> nn.Module:
    """Make the network."""
    channels = image_channels(spec, "preact_resnet32", smallest=8)
    return PreActResNet(channels, num_classes, widths=(32, 64, 128), blocks=(5, 5, 5))
