"""Initialisation, shared by the convolutional networks."""

from collections.abc import Callable
from math import sqrt

from torch import nn

from pencil.errors import PencilError, did_you_mean


def he_initialise(network: nn.Module) -> None:
    """Draw convolutions from N(0, 2/fan_out) and set biases of linear layers to zero (He et al., ICCV 2015)."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)


def torch041_initialise(network: nn.Module) -> None:
    """Draw as torch 0.4.1 did where a network says nothing: weights within ±1/√fan_in, scales of BN from 0 to 1."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            bound = 1 / sqrt(module.weight[0].numel())
            nn.init.uniform_(module.weight, -bound, bound)
            if module.bias is not None:
                nn.init.uniform_(module.bias, -bound, bound)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight)


_STARTS = {"he": he_initialise, "torch-0.4.1": torch041_initialise}


def find_start(name: str, backbone: str) -> Callable[[nn.Module], None]:
    """Return the initialisation that an option `start` names."""
    if name not in _STARTS:
        raise PencilError(f'{backbone} has no start "{name}".{did_you_mean(name, _STARTS)}')
    return _STARTS[name]
