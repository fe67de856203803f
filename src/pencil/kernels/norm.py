"""Batch normalisation followed by ReLU, and by a 3×3 convolution, fused on a GPU that computes in bfloat16.

Elsewhere the layers compute what torch computes, with the same parameters.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pencil.kernels import ops

Pair = tuple[Tensor, Tensor]
WIDTHS = (16, 32, 64, 128)
"""Channels that the kernels take, on either side."""
WIDEST_SUMS = 64
"""Beyond this, the sums over all images of a weight's gradient do not fit into registers, and cuDNN takes over."""


class _NormReLU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, added: Tensor | None, moments: Tensor, weight: Tensor, bias: Tensor, eps: float
    ) -> Tensor:
        out: Tensor = ops.norm_relu(x, added, moments, weight, bias, eps)
        ctx.eps = eps
        ctx.save_for_backward(x, moments, weight, bias, *([out] if added is not None else []))
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, moments, weight, bias, *out = ctx.saved_tensors
        grad_x, sums, grad_added = ops.norm_relu_backward(
            grad, None, x, out[0] if out else None, moments, weight, bias, ctx.eps
        )
        return grad_x, grad_added if out else None, None, sums[0], sums[1], None


class _NormReLUConv(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, added: Tensor | None, moments: Tensor, weight: Tensor, bias: Tensor, eps: float,
        kernel: Tensor,
    ) -> Any:  # fmt: skip
        active = ops.norm_relu(x, None, moments, weight, bias, eps)
        out, out_moments = ops.conv_moments(active, kernel, added)
        ctx.eps, ctx.has_added = eps, added is not None
        ctx.save_for_backward(x, active, moments, weight, bias, kernel)
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
    if max(kernel.shape[:2]) <= WIDEST_SUMS:
        grad_kernel = ops.weight_gradient(grad, active)
    else:
        grad_kernel = torch.ops.aten.convolution_backward(
            grad, active, kernel, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False]
        )[1]
    return grad_x, grad if ctx.has_added else None, None, sums[0], sums[1], None, grad_kernel


class NormReLU(nn.BatchNorm2d):
    """relu(BN(x)), or relu(BN(x) + added): parameters and buffers as in BatchNorm2d."""

    def forward(self, x: Tensor, added: Tensor | None = None, moments: Tensor | None = None) -> Tensor:
        if not self._fuses(x):
            normal = super().forward(x)
            return functional.relu(normal if added is None else normal + added)
        x, added = _last(x), None if added is None else _last(added)
        moments = self._tracked(x, moments)
        out: Tensor = _NormReLU.apply(x, added, moments, self.weight, self.bias, self.eps)  # type: ignore[no-untyped-call]
        return out

    def then(
        self, conv: nn.Conv2d, x: Tensor, moments: Tensor | None, added: Tensor | None = None, *, besides: bool = False
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Return conv(relu(BN(x))) (+ added), its moments where they came for nothing, and x for what lies besides."""
        if not (self._fuses(x) and _fits(conv)):
            out = conv(self(x, moments=moments))
            return out if added is None else out + added, None, x
        x = _last(x)
        function = _NormReLUConvBesides if besides else _NormReLUConv
        out, out_moments, *rest = function.apply(  # type: ignore[no-untyped-call]
            x, None if added is None else _last(added), self._tracked(x, moments), self.weight, self.bias, self.eps,
            _last(conv.weight.to(x.dtype)),
        )  # fmt: skip
        return out, out_moments, rest[0] if rest else x

    def _tracked(self, x: Tensor, moments: Tensor | None) -> Tensor:
        """Return the batch's moments, and bring the running ones up to date."""
        assert self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None
        if moments is None:
            moments = ops.moments(x.detach())
        assert self.momentum is not None
        rows, momentum = x.numel() // x.shape[1], self.momentum
        with torch.no_grad():
            self.running_mean.lerp_(moments[0], momentum)
            self.running_var.lerp_(moments[1] * (rows / max(rows - 1, 1)), momentum)
            self.num_batches_tracked.add_(1)
        return moments

    def _fuses(self, x: Tensor) -> bool:
        usual = self.momentum is not None and self.running_mean is not None and self.affine
        precise = x.dtype == torch.bfloat16 and self.weight.dtype == torch.float32
        return usual and precise and self.training and x.is_cuda


def _fits(conv: nn.Conv2d) -> bool:
    plain = conv.kernel_size == (3, 3) and conv.stride == (1, 1) and conv.padding == (1, 1) and conv.bias is None
    return plain and conv.in_channels in WIDTHS and conv.out_channels in WIDTHS


def _last(image: Tensor) -> Tensor:
    return image.contiguous(memory_format=torch.channels_last)
