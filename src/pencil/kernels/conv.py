"""A convolution that may know the moments of its result, with kernels of its own on a GPU; elsewhere it is torch's."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pencil.kernels import _conv64, _wgrad_cuda, block_ops, ops


class _Conv64(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: Tensor) -> Any:
        low = _last(kernel.to(x.dtype))
        out, moments = block_ops.conv64(x, low)
        ctx.save_for_backward(x, low)
        ctx.dtype, ctx.own = kernel.dtype, _wgrad_cuda.takes(x, kernel)
        ctx.mark_non_differentiable(moments)
        return out, moments

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> Any:
        x, kernel = ctx.saved_tensors
        grad = _last(grad)
        return block_ops.conv64_gradient(grad, kernel), weight_gradient(grad, x, kernel, ctx.dtype, own=ctx.own)


def weight_gradient(grad: Tensor, x: Tensor, kernel: Tensor, dtype: torch.dtype, *, own: bool) -> Tensor:
    """Take the gradient of such a convolution's weights, by a kernel of our own or by torch's."""
    if own:
        gradient: Tensor = block_ops.wide_weight_gradient(grad, x, dtype)
        return gradient
    return ops.torch_weight_gradient(grad, x, kernel, dtype)


class _Conv(torch.autograd.Function):
    """A convolution of torch's but for the gradient of its weights."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: Tensor) -> Any:
        low = _last(kernel.to(x.dtype))
        ctx.save_for_backward(x, low)
        ctx.dtype = kernel.dtype
        return functional.conv2d(x, low, padding=1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, kernel = ctx.saved_tensors
        grad = _last(grad)
        return ops.torch_gradient(grad, x, kernel), block_ops.wide_weight_gradient(grad, x, ctx.dtype)


class BlockConv(nn.Conv2d):
    """A 3×3 convolution without bias."""

    def __init__(self, inside: int, outside: int, stride: int = 1) -> None:
        super().__init__(inside, outside, 3, stride, 1, bias=False)

    def with_moments(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the result, and its moments where they come for nothing."""
        if self.takes64(x):
            out, moments = _Conv64.apply(_last(x), self.weight)  # type: ignore[no-untyped-call]
            return out, moments
        if self._usual() and _wgrad_cuda.takes(x, self.weight) and halves(x.device.type):
            return _Conv.apply(_last(x), self.weight), None  # type: ignore[no-untyped-call]
        return self(x), None

    def takes64(self, x: Tensor) -> bool:
        """Say whether the kernel of 64 channels convolves such images."""
        return self._usual() and _conv64.takes(x, self.weight) and halves(x.device.type)

    def _usual(self) -> bool:
        return self.training and self.stride == (1, 1) and self.weight.dtype in (torch.float32, torch.bfloat16)


def convolved(conv: nn.Conv2d, x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the convolution of an image, and the moments of that where they come for nothing."""
    return conv.with_moments(x) if isinstance(conv, BlockConv) else (conv(x), None)


def _last(image: Tensor) -> Tensor:
    return image.contiguous(memory_format=ops.LAST)


def halves(device: str) -> bool:
    """Say whether torch would convolve in bfloat16 here."""
    return torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.bfloat16
