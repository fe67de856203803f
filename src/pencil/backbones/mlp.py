"""A plain perceptron for rows of numbers and very small images; no batch norm."""

import math
from itertools import pairwise

from torch import nn

from pencil.errors import PencilError
from pencil.types import InputSpec


def build(spec: InputSpec, num_classes: int, *, hidden: int = 256, depth: int = 2) -> nn.Module:
    """Make the network: `depth` hidden layers of `hidden` units; images are flattened."""
    if hidden < 1 or depth < 0:
        raise PencilError(f"mlp needs hidden ≥ 1 and depth ≥ 0, not hidden={hidden} and depth={depth}.")
    widths = [math.prod(spec.shape), *[hidden] * depth]
    layers: list[nn.Module] = [nn.Flatten()]
    for inside, outside in pairwise(widths):
        layers += [_linear(inside, outside), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], num_classes))


def _linear(inside: int, outside: int) -> nn.Linear:
    layer = nn.Linear(inside, outside)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.zeros_(layer.bias)
    return layer
