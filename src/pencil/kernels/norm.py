"""Batch normalisation with what stands around it (ReLU, shortcut, 3×3 convolution), fused on a GPU in bfloat16.

Elsewhere the layers compute what torch computes, with the same parameters.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pencil.kernels import _norm_cuda, _wgrad_cuda, block_ops, ops
from pencil.kernels.conv import BlockConv, convolved, weight_gradient

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
        ctx.eps, ctx.running, ctx.has_added, ctx.dtype = running[-1], len(running), added is not None, kernel.dtype
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
    grad_kernel = ops.weight_gradient(grad, active, kernel, ctx.dtype)
    return grad_x, grad if ctx.has_added else None, grad_kernel, None, sums[0], sums[1], *[None] * ctx.running


class _BlockNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, given: Tensor | None, added: Tensor | None, weight: Tensor, bias: Tensor, relu: bool,
        *running: Any,
    ) -> Any:  # fmt: skip
        out, moments = block_ops.block_norm(x, given, added, weight, bias, *running, relu)
        ctx.relu, ctx.eps, ctx.running = relu, running[-1], len(running)
        ctx.save_for_backward(x, moments, weight, bias, *([] if added is None else [out]))
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _block_backward(ctx, grad, None)


class _BlockNormTwice(_BlockNorm):
    """Hands its result out twice, so that the gradients of both ways are added in the same kernel."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        out = _BlockNorm.forward(ctx, *args)
        return out, out.view_as(out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, other: Tensor) -> Any:  # type: ignore[override]
        return _block_backward(ctx, grad, _last(other))


def _block_backward(ctx: Any, grad: Tensor, other: Tensor | None) -> Any:
    x, moments, weight, bias, *out = ctx.saved_tensors
    y = out[0] if out else None
    # Laid out here and not by the operator, so that the compiler does it where the gradient is computed.
    grad_x, passed, sums = block_ops.block_norm_backward(
        _last(grad), other, y, x, moments, weight, bias, ctx.eps, ctx.relu
    )
    return grad_x, None, passed if out else None, sums[0], sums[1], None, *[None] * ctx.running


class _BlockNormConv(torch.autograd.Function):
    """An activated normalisation and the convolution of 64 channels behind it.

    Where the moments are given and nothing is added, the convolution's kernel also normalises and activates. Backward,
    it goes through the ReLU and takes the sums that the normalisation needs.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, given: Tensor | None, added: Tensor | None, kernel: Tensor, weight: Tensor, bias: Tensor,
        *running: Any,
    ) -> Any:  # fmt: skip
        low = _last(kernel.to(x.dtype))
        if given is None or added is not None:  # With a sum before it, the convolution would wait for what is added.
            active, moments = block_ops.block_norm(x, given, added, weight, bias, *running, True)
            out, out_moments = block_ops.conv64(active, low)
        else:
            moments = given
            active, out, out_moments = block_ops.norm_conv64(x, moments, weight, bias, *running, low)
        ctx.eps, ctx.running, ctx.has_added = running[-1], len(running), added is not None
        ctx.dtype, ctx.own = kernel.dtype, _wgrad_cuda.takes(x, kernel)
        ctx.save_for_backward(x, active, moments, weight, bias, low)
        ctx.mark_non_differentiable(out_moments)
        return out, out_moments, active

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any, other: Tensor | None = None) -> Any:
        x, active, moments, weight, bias, kernel = ctx.saved_tensors
        grad, y = _last(grad), active if ctx.has_added else None
        beside = None if other is None else _last(other)
        grad_x, passed, sums = block_ops.norm_conv64_gradient(
            grad, beside, y, kernel, x, moments, weight, bias, ctx.eps
        )
        grad_kernel = weight_gradient(grad, active, kernel, ctx.dtype, own=ctx.own)
        grad_added = passed if ctx.has_added else None
        return grad_x, None, grad_added, grad_kernel, sums[0], sums[1], *[None] * ctx.running


class _BlockNormConvAlone(_BlockNormConv):
    """The same where nothing but the convolution needs the activated image."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        return _BlockNormConv.forward(ctx, *args)[:2]


class BlockNorm(nn.BatchNorm2d):
    """BN(x), activated unless `relu` is off, perhaps with a shortcut added before; parameters of BatchNorm2d.

    The moments of x are taken unless they come with it.
    """

    def __init__(self, channels: int, *, relu: bool = True) -> None:
        super().__init__(channels)
        self.relu = relu

    def forward(self, x: Tensor, moments: Tensor | None = None, added: Tensor | None = None) -> Tensor:
        if not self._fuses(x, added):
            return self._plain(x, added)
        out: Tensor = _BlockNorm.apply(*self._arguments(x, moments, added))  # type: ignore[no-untyped-call]
        return out

    def twice(self, x: Tensor, moments: Tensor | None = None, added: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the result for each of two ways that it goes."""
        if not self._fuses(x, added):
            out = self._plain(x, added)
            return out, out
        one, other = _BlockNormTwice.apply(*self._arguments(x, moments, added))  # type: ignore[no-untyped-call]
        return one, other

    def then(
        self, conv: nn.Conv2d, x: Tensor, moments: Tensor | None, added: Tensor | None = None, *, besides: bool = False
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Return the result convolved, the moments of that where they come for nothing, and the result for besides.

        That last one may be used where `besides` is on.
        """
        if not (self.relu and self._fuses(x, added) and isinstance(conv, BlockConv) and conv.takes64(x)):
            active, beside = self.twice(x, moments, added) if besides else (self(x, moments, added), x)
            return *convolved(conv, active), beside
        x, _, beside, weight, bias, _, *running = self._arguments(x, moments, added)
        function = _BlockNormConv if besides else _BlockNormConvAlone
        out, out_moments, *rest = function.apply(  # type: ignore[no-untyped-call]
            x, moments, beside, conv.weight, weight, bias, *running
        )
        return out, out_moments, rest[0] if rest else x

    def _plain(self, x: Tensor, added: Tensor | None) -> Tensor:
        out = super().forward(x)
        out = out if added is None else out + added
        return functional.relu(out) if self.relu else out

    def _arguments(self, x: Tensor, moments: Tensor | None, added: Tensor | None) -> tuple[Any, ...]:
        running = (self.running_mean, self.running_var, self.num_batches_tracked, self.momentum, self.eps)
        beside = None if added is None else _last(added)
        return _last(x), moments, beside, self.weight, self.bias, self.relu, *running

    def _fuses(self, x: Tensor, added: Tensor | None) -> bool:
        alike = added is None or (self.relu and added.shape == x.shape and added.dtype == x.dtype)
        return alike and _usual(self) and _norm_cuda.takes(x)


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
            active = self(x, moments=moments)
            out, found = convolved(conv, active)
            return (out, found, x) if added is None else (out + added, None, x)
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
        return _usual(self) and x.dtype == torch.bfloat16 and x.is_cuda


def _usual(norm: nn.BatchNorm2d) -> bool:
    """Say whether it learns, and keeps what the kernels keep."""
    usual = norm.momentum is not None and norm.running_mean is not None and norm.affine
    return usual and norm.weight.dtype == torch.float32 and norm.training


def _fits(conv: nn.Conv2d, x: Tensor) -> bool:
    plain = conv.kernel_size == (3, 3) and conv.stride == (1, 1) and conv.padding == (1, 1) and conv.bias is None
    widths = {conv.in_channels, conv.out_channels}
    return plain and all(width in MOST_ROWS for width in widths) and _rows(x) <= MOST_ROWS[max(widths)]


def _rows(x: Tensor) -> int:
    return x.numel() // x.shape[1]


def _last(image: Tensor) -> Tensor:
    return image.contiguous(memory_format=torch.channels_last)
