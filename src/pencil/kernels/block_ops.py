"""The kernels of residual networks as operators of torch, as in `ops`."""

from typing import Any

import torch
from torch import Tensor

from pencil.kernels.ops import LAST

NAMES = (
    "block_norm",
    "block_norm_backward",
    "conv64",
    "conv64_gradient",
    "norm_conv64",
    "norm_conv64_gradient",
    "wide_weight_gradient",
    "stem",
    "stem_weight_gradient",
)


@torch.library.custom_op("pencil::block_norm", mutates_args=("running_mean", "running_var", "batches"))
def block_norm(
    x: Tensor,
    moments: Tensor | None,
    added: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    batches: Tensor,
    momentum: float,
    eps: float,
    relu: bool,
) -> tuple[Tensor, Tensor]:
    """BN(x) (+ added), perhaps activated, and the moments of x; brings the running statistics up to date."""
    from pencil.kernels import _norm_cuda

    running = (running_mean, running_var, batches, momentum, eps)
    return _norm_cuda.forward(x, moments, added, weight, bias, *running, relu)


@block_norm.register_fake
def _(x: Tensor, *rest: Any) -> Any:
    return torch.empty_like(x), torch.empty(2, x.shape[1], dtype=torch.float32, device=x.device)


@torch.library.custom_op("pencil::block_norm_backward", mutates_args=())
def block_norm_backward(
    grad: Tensor,
    other: Tensor | None,
    y: Tensor | None,
    x: Tensor,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    eps: float,
    relu: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """∂x, what the ReLU let through of grad (+ other) if y or `other` is given, and [∂weight, ∂bias]."""
    from pencil.kernels import _norm_cuda

    return _norm_cuda.backward(grad, other, y, x, moments, weight, bias, eps, relu)


@block_norm_backward.register_fake
def _(grad: Tensor, other: Tensor | None, y: Tensor | None, x: Tensor, moments: Tensor, *rest: Any) -> Any:
    from pencil.kernels import _norm_cuda

    passed = _norm_cuda.passed_like(x, add=y is not None, both=other is not None)
    return torch.empty_like(x), passed, torch.empty_like(moments)


@torch.library.custom_op("pencil::conv64", mutates_args=())
def conv64(x: Tensor, kernel: Tensor) -> tuple[Tensor, Tensor]:
    """The 3×3 convolution of stride 1, and its moments, [2, C]."""
    from pencil.kernels import _conv64, _join

    out, partial = _conv64.forward(x, kernel)
    return out, _join.joined_moments(partial, out.numel() // out.shape[1], _conv64.TILE)


@conv64.register_fake
def _(x: Tensor, kernel: Tensor) -> Any:
    return torch.empty_like(x), torch.empty(2, kernel.shape[0], dtype=torch.float32, device=x.device)


@torch.library.custom_op("pencil::conv64_gradient", mutates_args=())
def conv64_gradient(grad: Tensor, kernel: Tensor) -> Tensor:
    """∂x of such a convolution."""
    from pencil.kernels import _conv64

    return _conv64.gradient(grad, kernel)


@conv64_gradient.register_fake
def _(grad: Tensor, kernel: Tensor) -> Tensor:
    return torch.empty_like(grad)


@torch.library.custom_op("pencil::norm_conv64", mutates_args=("running_mean", "running_var", "batches"))
def norm_conv64(
    x: Tensor,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    batches: Tensor,
    momentum: float,
    eps: float,
    kernel: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """relu(BN(x)) by given moments, its `conv64`, and the moments of that; keeps the running statistics."""
    from pencil.kernels import _conv64, _join

    running = (running_mean, running_var, batches, momentum, eps)
    active, out, partial = _conv64.norm_forward(x, moments, weight, bias, *running, kernel)
    return active, out, _join.joined_moments(partial, out.numel() // out.shape[1], _conv64.TILE)


@norm_conv64.register_fake
def _(x: Tensor, moments: Tensor, *rest: Any) -> Any:
    return torch.empty_like(x), torch.empty_like(x), torch.empty_like(moments)


@torch.library.custom_op("pencil::norm_conv64_gradient", mutates_args=())
def norm_conv64_gradient(
    grad: Tensor,
    other: Tensor | None,
    y: Tensor | None,
    kernel: Tensor,
    x: Tensor,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`block_norm_backward`, where grad is that of such a convolution of the activated image."""
    from pencil.kernels import _conv64, _norm_cuda

    passed, partial = _conv64.norm_gradient(grad, other, y, kernel, x, moments, weight, bias, eps)
    out, sums = _norm_cuda.finish_backward(passed, x, partial, moments, weight, bias, eps)
    return out, passed, sums


@norm_conv64_gradient.register_fake
def _(grad: Tensor, other: Any, y: Any, kernel: Tensor, x: Tensor, moments: Tensor, *rest: Any) -> Any:
    return torch.empty_like(x), torch.empty_like(grad), torch.empty_like(moments)


@torch.library.custom_op("pencil::wide_weight_gradient", mutates_args=())
def wide_weight_gradient(grad: Tensor, x: Tensor, dtype: torch.dtype) -> Tensor:
    """`weight_gradient` of as many channels on either side, 64 or 128."""
    from pencil.kernels import _wgrad_cuda

    return _wgrad_cuda.weight_gradient(grad, x, dtype)


@wide_weight_gradient.register_fake
def _(grad: Tensor, x: Tensor, dtype: torch.dtype) -> Tensor:
    shape = (grad.shape[1], x.shape[1], 3, 3)
    return torch.empty(shape, dtype=dtype, device=grad.device, memory_format=LAST)


@torch.library.custom_op("pencil::stem", mutates_args=())
def stem(x: Tensor, kernel: Tensor) -> tuple[Tensor, Tensor]:
    """The 3×3 convolution of stride 1 of an image that zeros fill up to four channels, and its moments, [2, C]."""
    from pencil.kernels import _conv64, _join, _stem_cuda

    out, partial = _stem_cuda.forward(x, kernel)
    return out, _join.joined_moments(partial, out.numel() // out.shape[1], _conv64.TILE)


@stem.register_fake
def _(x: Tensor, kernel: Tensor) -> Any:
    (batch, _, height, width), channels = x.shape, kernel.shape[0]
    out = torch.empty((batch, channels, height, width), dtype=x.dtype, device=x.device, memory_format=LAST)
    return out, torch.empty(2, channels, dtype=torch.float32, device=x.device)


@torch.library.custom_op("pencil::stem_weight_gradient", mutates_args=())
def stem_weight_gradient(grad: Tensor, x: Tensor, channels: int, dtype: torch.dtype) -> Tensor:
    """∂kernel of such a convolution for so many channels of the image, summed in 32 bits and given in this type."""
    from pencil.kernels import _stem_cuda

    return _stem_cuda.weight_gradient(grad, x, channels, dtype)


@stem_weight_gradient.register_fake
def _(grad: Tensor, x: Tensor, channels: int, dtype: torch.dtype) -> Tensor:
    return torch.empty((grad.shape[1], channels, 3, 3), dtype=dtype, device=grad.device, memory_format=LAST)
