"""Initialisation, shared by the convolutional networks."""

from torch import nn


def he_initialise(network: nn.Module) -> None:
    """Draw convolutions from N(0, 2/fan_out) and set biases of linear layers to zero (He et al., ICCV 2015)."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
