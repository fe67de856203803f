"""Initialisation, shared by the convolutional networks."""

from torch import nn

from pencil.errors import PencilError, did_you_mean

KINDS = ("he", "torch")


def he_initialise(network: nn.Module) -> None:
    """Draw convolutions from N(0, 2/fan_out) and set biases of linear layers to zero (He et al., ICCV 2015)."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)


def initialise(network: nn.Module, kind: str) -> None:
    """Initialise by name: "he", or "torch", which leaves what torch's layers start from (about 0.4 times as large)."""
    if kind not in KINDS:
        raise PencilError(f'there is no initialisation "{kind}".{did_you_mean(kind, KINDS)}')
    if kind == "he":
        he_initialise(network)
