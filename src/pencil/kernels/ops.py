"""The kernels of networks that normalise first as operators of torch, so that compilation passes them through whole."""

from typing import Any

import torch
from torch import Tensor

LAST = torch.channels_last
NAMES = (
    "moments",
    "norm_relu",
    "norm_relu_backward",
    "norm_relu_conv",
    "norm_relu_conv_backward",
    "weight_gradient",
)


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


@torch.library.custom_op("pencil::norm_relu_conv", mutates_args=("running_mean", "running_var", "batches"))
def norm_relu_conv(
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
    added: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """relu(BN(x)), its 3×3 convolution of stride 1 (+ added), and the moments of that; `norm_relu` besides."""
    from pencil.kernels import _conv_triton, _cuda, _norm_triton

    running = (running_mean, running_var, batches, momentum, eps)
    if _cuda.convolves(x, kernel):
        return _cuda.forward(x, moments, weight, bias, kernel, added, *running)
    active = _norm_triton.forward(x, moments, weight, bias, *running)
    return active, *_conv_triton.forward(active, kernel, added)


@norm_relu_conv.register_fake
def _(x: Tensor, *rest: Any) -> Any:
    kernel = rest[8]
    batch, _, height, width = x.shape
    channels, device = kernel.shape[0], x.device
    out = torch.empty((batch, channels, height, width), dtype=x.dtype, device=device, memory_format=LAST)
    return torch.empty_like(x), out, torch.empty(2, channels, dtype=torch.float32, device=device)


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
    from pencil.kernels import _conv_triton, _cuda, _norm_triton

    grad = _last(grad)
    kernels = _cuda if _cuda.convolves(grad, kernel) else _conv_triton
    passed, sums = kernels.backward(grad, kernel, x, moments, weight, bias, eps)
    return _norm_triton.backward(passed, _last(skip), x, moments, weight, bias, sums, eps), sums


@norm_relu_conv_backward.register_fake
def _(grad: Tensor, skip: Tensor | None, kernel: Tensor, x: Tensor, moments: Tensor, *rest: Any) -> Any:
    return torch.empty_like(x), torch.empty_like(moments)


@torch.library.custom_op("pencil::weight_gradient", mutates_args=())
def weight_gradient(grad: Tensor, active: Tensor, kernel: Tensor, dtype: torch.dtype) -> Tensor:
    """∂kernel of a 3×3 convolution of stride 1, [O, C, 3, 3], summed in 32 bits and given in this type."""
    from pencil.kernels import _bands_triton, _wgrad_triton

    grad = _last(grad)
    gradient: Tensor
    if _bands_triton.sums(active, grad):
        gradient = _bands_triton.weight_gradient(grad, active, dtype)
    elif _wgrad_triton.sums(active, grad):
        gradient = _wgrad_triton.weight_gradient(grad, active, dtype)
    else:
        gradient = torch_weight_gradient(grad, active, kernel, dtype)
    return gradient


@weight_gradient.register_fake
def _(grad: Tensor, active: Tensor, kernel: Tensor, dtype: torch.dtype) -> Tensor:
    shape = (grad.shape[1], active.shape[1], 3, 3)
    return torch.empty(shape, dtype=dtype, device=grad.device, memory_format=LAST)


def torch_weight_gradient(grad: Tensor, x: Tensor, kernel: Tensor, dtype: torch.dtype) -> Tensor:
    """Take ∂kernel of a 3×3 convolution of stride 1 as torch does, in this type."""
    gradient: Tensor = _gradients(grad, x, kernel, [False, True, False])[1].to(dtype).contiguous(memory_format=LAST)
    return gradient


def torch_gradient(grad: Tensor, x: Tensor, kernel: Tensor) -> Tensor:
    """Take ∂x of such a convolution as torch does."""
    gradient: Tensor = _gradients(grad, x, kernel, [True, False, False])[0]
    return gradient


def _gradients(grad: Tensor, x: Tensor, kernel: Tensor, which: list[bool]) -> Any:
    return torch.ops.aten.convolution_backward(grad, x, kernel, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, which)


def _last(image: Tensor | None) -> Any:
    return None if image is None else image.contiguous(memory_format=LAST)
