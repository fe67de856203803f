"""ResNet-50 for photographs, with the names of torchvision's, so that its published weights can be loaded."""

from torch import nn

from pencil.backbones._resnet import Bottleneck, ResNet
from pencil.backbones._spec import image_channels
from pencil.backbones._weights import load
from pencil.types import InputSpec


def build(spec: InputSpec, num_classes: int, *, weights: str = "") -> nn.Module:
    """Make the network, from scratch or from a file of weights; a classifier for other classes starts afresh."""
    channels = image_channels(spec, "resnet50", smallest=32)
    network = ResNet(channels, num_classes, block=Bottleneck, blocks=(3, 4, 6, 3), small_images=False)
    if weights:
        load(network, weights, classifier="fc")
    return network
