"""The kernels as operators of torch, so that compilation passes them through whole."""

from typing import Any

import torch
from torch import Tensor

LAST = torch.channels_last


@torch.library.custom_op("pencil::moments", mutates_args=())
def moments(x: Tensor) -> Tensor:
    """Mean and variance of each channel, [2, C]."""
    from pencil.kernels import _norm_triton

    return _norm_triton.moments(x)


@moments.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty(2, x.shape[1], dtype=torch.float32, device=x.device)


@torch.library.custom_op("pencil::norm_relu", mutates_args=("running_mean", "running_var", "batches"))
def norm_relu(
    x: Tensor,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    batches: Tensor,
    momentum: float,
    eps: float,
) -> Tensor:
    """relu(BN(x)); brings the running statistics up to date."""
    from pencil.kernels import _norm_triton

    return _norm_triton.forward(x, moments, weight, bias, running_mean, running_var, batches, momentum, eps)


@norm_relu.register_fake
def _(x: Tensor, *rest: Any) -> Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("pencil::norm_relu_backward", mutates_args=())
def norm_relu_backward(
    grad: Tensor, x: Tensor, moments: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    """∂x and [∂weight, ∂bias]."""
    from pencil.kernels import _norm_triton

    grad = grad.contiguous(memory_format=LAST)
    sums = _norm_triton.sums(grad, x, moments, weight, bias, eps)
    return _norm_triton.backward(grad, None, x, moments, weight, bias, sums, eps), sums


@norm_relu_backward.register_fake
def _(grad: Tensor, x: Tensor, moments: Tensor, *rest: Any) -> Any:
    return torch.empty_like(x), torch.empty_like(moments)


@torch.library.custom_op("pencil::conv_moments", mutates_args=())
def conv_moments(active: Tensor, kernel: Tensor, added: Tensor | None) -> tuple[Tensor, Tensor]:
    """A 3×3 convolution of stride 1 (+ added), and the moments of the result."""
    from pencil.kernels import _conv_triton

    return _conv_triton.forward(active, kernel, added)


@conv_moments.register_fake
def _(active: Tensor, kernel: Tensor, added: Tensor | None) -> Any:
    batch, _, height, width = active.shape
    channels, device = kernel.shape[0], active.device
    out = torch.empty((batch, channels, height, width), dtype=active.dtype, device=device, memory_format=LAST)
    return out, torch.empty(2, channels, dtype=torch.float32, device=device)


@torch.library.custom_op("pencil::norm_relu_conv_backward", mutates_args=())
def norm_relu_conv_backward(
    grad: Tensor,
    skip: Tensor | None,
    kernel: Tensor,
    x: Tensor,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """∂x and [∂weight, ∂bias] of conv(relu(BN(x))); `skip` reaches x by another way and is added."""
    from pencil.kernels import _conv_triton, _norm_triton

    passed, sums = _conv_triton.backward(_last(grad), kernel, x, moments, weight, bias, eps)
    return _norm_triton.backward(passed, _last(skip), x, moments, weight, bias, sums, eps), sums


@norm_relu_conv_backward.register_fake
def _(grad: Tensor, skip: Tensor | None, kernel: Tensor, x: Tensor, moments: Tensor, *rest: Any) -> Any:
    return torch.empty_like(x), torch.empty_like(moments)


@torch.library.custom_op("pencil::weight_gradient", mutates_args=())
def weight_gradient(grad: Tensor, active: Tensor) -> Tensor:
    """∂kernel of a 3×3 convolution of stride 1, [O, C, 3, 3], in 32 bits."""
    from pencil.kernels import _bands_triton, _wgrad_triton

    kernels = _bands_triton if _bands_triton.sums(active, grad) else _wgrad_triton
    gradient: Tensor = kernels.weight_gradient(_last(grad), active)
    return gradient


@weight_gradient.register_fake
def _(grad: Tensor, active: Tensor) -> Tensor:
    shape = (grad.shape[1], active.shape[1], 3, 3)
    return torch.empty(shape, dtype=torch.float32, device=grad.device, memory_format=LAST)


def _last(image: Tensor | None) -> Any:
    return None if image is None else image.contiguous(memory_format=LAST)
