"""Several networks that answer as one."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


class Members(nn.Module):
    """Networks of one kind, each with weights of its own; together they give the mean of what each says.

    Shapes: B examples, K members, C classes.
    """

    def __init__(self, make: Callable[[], nn.Module], count: int) -> None:
        super().__init__()
        self.networks = nn.ModuleList(make() for _ in range(count))

    def forward(self, inputs: Tensor) -> Tensor:
        return self.each(inputs).mean(1)

    def each(self, inputs: Tensor) -> Tensor:
        """Return [B, K, C], what each of them says."""
        return torch.stack([network(inputs) for network in self.networks], 1)
