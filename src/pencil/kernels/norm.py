"""Batch normalisation followed by ReLU, and by a 3×3 convolution, fused on a GPU that computes in bfloat16.

Elsewhere the layers compute what torch computes, with the same parameters.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pencil.kernels import ops

MOST_ROWS = {16: 2**31, 32: 2**31, 64: 2**15, 128: 2**14}
"""Channels that the convolutions here take, on either side, and how many pixels of a batch; beyond, cuDNN is faster."""


class _NormReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor, *running: Any) -> Tensor:
        out: Tensor = ops.norm_relu(x, moments, weight, bias, *running)
        ctx.eps, ctx.running = running[-1], len(running)
        ctx.save_for_backward(x, moments, weight, bias)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        grad_x, sums = ops.norm_relu_backward(grad, *ctx.saved_tensors, ctx.eps)
        return grad_x, None, sums[0], sums[1], *[None] * ctx.running


class _NormReLUConv(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, added: Tensor | None, kernel: Tensor, moments: Tensor, weight: Tensor, bias: Tensor,
        *running: Any,
    ) -> Any:  # fmt: skip
        low = _last(kernel.to(x.dtype))
        active, out, out_moments = ops.norm_relu_conv(x, moments, weight, bias, *running, low, added)
        ctx.eps, ctx.running, ctx.has_added = running[-1], len(running), added is not None
        ctx.save_for_backward(x, active, moments, weight, bias, low)
        ctx.mark_non_differentiable(out_moments)
        return out, out_moments

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> Any:
        return _unit_backward(ctx, grad, None)


class _NormReLUConvBesides(_NormReLUConv):
    """Also hands x on, so that the gradient which reaches x beside the convolution is added in the same kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *rest: Any) -> Any:
        return *_NormReLUConv.forward(ctx, x, *rest), x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any, skip: Tensor) -> Any:  # type: ignore[override]
        return _unit_backward(ctx, grad, skip)


def _unit_backward(ctx: Any, grad: Tensor, skip: Tensor | None) -> Any:
    x, active, moments, weight, bias, kernel = ctx.saved_tensors
    grad_x, sums = ops.norm_relu_conv_backward(grad, skip, kernel, x, moments, weight, bias, ctx.eps)
    grad_kernel = ops.weight_gradient(grad, active, kernel)
    return grad_x, grad if ctx.has_added else None, grad_kernel, None, sums[0], sums[1], *[None] * ctx.running


class NormReLU(nn.BatchNorm2d):
    """relu(BN(x)), with the parameters and buffers of BatchNorm2d."""

    def forward(self, x: Tensor, moments: Tensor | None = None) -> Tensor:
        if not self._fuses(x):
            return functional.relu(super().forward(x))
        x = _last(x)
        out: Tensor = _NormReLU.apply(x, *self._statistics(x, moments))  # type: ignore[no-untyped-call]
        return out

    def then(
        self, conv: nn.Conv2d, x: Tensor, moments: Tensor | None, added: Tensor | None = None, *, besides: bool = False
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Return conv(relu(BN(x))) (+ added), its moments where they came for nothing, and x for what lies besides."""
        if not (self._fuses(x) and _fits(conv, x)):
            out = conv(self(x, moments=moments))
            return out if added is None else out + added, None, x
        x = _last(x)
        function = _NormReLUConvBesides if besides else _NormReLUConv
        out, out_moments, *rest = function.apply(  # type: ignore[no-untyped-call]
            x, None if added is None else _last(added), conv.weight, *self._statistics(x, moments)
        )
        return out, out_moments, rest[0] if rest else x

    def _statistics(self, x: Tensor, moments: Tensor | None) -> tuple[Any, ...]:
        """Return what the kernels need to normalise x and to keep the running statistics."""
        moments = ops.moments(x.detach()) if moments is None else moments
        running = (self.running_mean, self.running_var, self.num_batches_tracked, self.momentum, self.eps)
        return moments, self.weight, self.bias, *running

    def _fuses(self, x: Tensor) -> bool:
        usual = self.momentum is not None and self.running_mean is not None and self.affine
        precise = x.dtype == torch.bfloat16 and self.weight.dtype == torch.float32
        return usual and precise and self.training and x.is_cuda


def _fits(conv: nn.Conv2d, x: Tensor) -> bool:
    plain = conv.kernel_size == (3, 3) and conv.stride == (1, 1) and conv.padding == (1, 1) and conv.bias is None
    widths = {conv.in_channels, conv.out_channels}
    return plain and all(width in MOST_ROWS for width in widths) and _rows(x) <= MOST_ROWS[max(widths)]


def _rows(x: Tensor) -> int:
    return x.numel() // x.shape[1]


def _last(image: Tensor) -> Tensor:
    return image.contiguous(memory_format=torch.channels_last)
