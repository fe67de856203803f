"""The convolution that sees an image first."""

import torch
from torch import Tensor, nn
from torch.nn import functional

MULTIPLE = 8
"""Channels that a GPU's units for 16 bits take at a time; for fewer cuDNN has only slow kernels."""


class Stem(nn.Conv2d):
    """A convolution of few channels; with zeros beside them where a GPU computes in 16 bits."""

    def forward(self, x: Tensor) -> Tensor:
        if not (self.in_channels % MULTIPLE and x.is_cuda and torch.is_autocast_enabled(x.device.type)):
            return super().forward(x)
        return self.widened(x)

    def widened(self, x: Tensor) -> Tensor:
        """Return what the convolution returns, by way of more channels."""
        beside = (0, 0, 0, 0, 0, -self.in_channels % MULTIPLE)
        # Of a single channel the layout cannot be told; zeros beside it must be told where to go.
        wide = functional.pad(x, beside).contiguous(memory_format=torch.channels_last)
        out: Tensor = self._conv_forward(wide, functional.pad(self.weight, beside), self.bias)
        return out
