"""ResNet-34 with a 3×3 stem for small images, the paper's CIFAR-100 network: 21.3 M parameters."""

from torch import nn

from pencil.backbones._resnet import BasicBlock, ResNet
from pencil.backbones._spec import image_channels
from pencil.types import InputSpec


def build(spec: InputSpec, num_classes: int) -> nn.Module:
    """Make the network; it has no options."""
    channels = image_channels(spec, "resnet34", smallest=8)
    return ResNet(channels, num_classes, block=BasicBlock, blocks=(3, 4, 6, 3), small_images=True)
