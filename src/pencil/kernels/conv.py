"""A convolution that knows the moments of its result, fused on a GPU in bfloat16; elsewhere it is torch's."""

from typing import Any

import torch
from torch import Tensor, nn

from pencil.kernels import _conv64, ops


class _Conv64(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: Tensor) -> Any:
        low = kernel.to(x.dtype).contiguous(memory_format=ops.LAST)
        out, moments = ops.conv64(x, low)
        ctx.save_for_backward(x, low)
        ctx.dtype = kernel.dtype
        ctx.mark_non_differentiable(moments)
        return out, moments

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> Any:
        x, kernel = ctx.saved_tensors
        grad = grad.contiguous(memory_format=ops.LAST)
        return ops.conv64_gradient(grad, kernel), ops.torch_weight_gradient(grad, x, kernel, ctx.dtype)


class BlockConv(nn.Conv2d):
    """A 3×3 convolution without bias."""

    def __init__(self, inside: int, outside: int, stride: int = 1) -> None:
        super().__init__(inside, outside, 3, stride, 1, bias=False)

    def with_moments(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the result, and its moments where they come for nothing."""
        if not self._fuses(x):
            return self(x), None
        out, moments = _Conv64.apply(x.contiguous(memory_format=ops.LAST), self.weight)  # type: ignore[no-untyped-call]
        return out, moments

    def _fuses(self, x: Tensor) -> bool:
        usual = self.training and self.stride == (1, 1) and self.weight.dtype in (torch.float32, torch.bfloat16)
        return usual and _conv64.takes(x, self.weight) and _halves(x.device.type)


def _halves(device: str) -> bool:
    """Say whether torch would convolve in bfloat16 here."""
    return torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.bfloat16
