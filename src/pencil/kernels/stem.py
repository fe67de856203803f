"""The convolution that sees an image first."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pencil.kernels import _stem_cuda, block_ops, ops
from pencil.kernels.conv import halves

MULTIPLE = 8
"""Channels that a GPU's units for 16 bits take at a time; for fewer cuDNN has only slow kernels."""


class _Stem(torch.autograd.Function):
    """Of an image with zeros beside its channels, which needs no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: Tensor) -> Any:
        out, moments = block_ops.stem(x, kernel.to(x.dtype).contiguous(memory_format=ops.LAST))
        ctx.save_for_backward(x)
        ctx.channels, ctx.dtype = kernel.shape[1], kernel.dtype
        ctx.mark_non_differentiable(moments)
        return out, moments

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> Any:
        grad = grad.contiguous(memory_format=ops.LAST)
        return None, block_ops.stem_weight_gradient(grad, *ctx.saved_tensors, ctx.channels, ctx.dtype)


class Stem(nn.Conv2d):
    """A convolution of few channels; with zeros beside them where a GPU computes in 16 bits."""

    def forward(self, x: Tensor) -> Tensor:
        if not (self.in_channels % MULTIPLE and x.is_cuda and torch.is_autocast_enabled(x.device.type)):
            return super().forward(x)
        return self.widened(x)

    def with_moments(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the result, and its moments where they come for nothing."""
        known = self._usual() and not x.requires_grad and _stem_cuda.takes(x, self.weight)
        if not (known and halves(x.device.type)):
            return self(x), None
        # Here and not in the operator, so that torch's compiler makes one kernel of it and what comes before.
        wide = _beside(x.to(torch.bfloat16), _stem_cuda.HELD - self.in_channels)
        out, moments = _Stem.apply(wide, self.weight)  # type: ignore[no-untyped-call]
        return out, moments

    def widened(self, x: Tensor) -> Tensor:
        """Return what the convolution returns, by way of more channels."""
        more = -self.in_channels % MULTIPLE
        kernel = functional.pad(self.weight, (0, 0, 0, 0, 0, more))
        out: Tensor = self._conv_forward(_beside(x, more), kernel, self.bias)
        return out

    def _usual(self) -> bool:
        """Say whether it learns, and is a 3×3 convolution of stride 1 with a border of zeros."""
        plain = self.bias is None and self.padding_mode == "zeros" and self.groups == 1 and self.dilation == (1, 1)
        known = plain and self.stride == (1, 1) and self.padding == (1, 1)
        return known and self.training and self.weight.dtype in (torch.float32, torch.bfloat16)


def _beside(x: Tensor, more: int) -> Tensor:
    """Put so many channels of zeros beside those of an image."""
    # Of a single channel the layout cannot be told; zeros beside it must be told where to go.
    return functional.pad(x, (0, 0, 0, 0, 0, more)).contiguous(memory_format=torch.channels_last)
