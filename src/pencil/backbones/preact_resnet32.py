"""PreAct ResNet-32, the paper's CIFAR-10 network: 3 stages of 5 pre-activation blocks, 1.86 M parameters."""

from torch import nn

from pencil.backbones._init import find_start
from pencil.backbones._preact import PreActResNet
from pencil.backbones._spec import image_channels
from pencil.types import InputSpec


def build(spec: InputSpec, num_classes: int, *, start: str = "he") -> nn.Module:
    """Make the network; `start` says how its weights are drawn: "he", or "torch-0.4.1" as that version draws them."""
    channels = image_channels(spec, "preact_resnet32", smallest=8)
    initialise = find_start(start, "preact_resnet32")
    return PreActResNet(channels, num_classes, widths=(32, 64, 128), blocks=(5, 5, 5), initialise=initialise)
