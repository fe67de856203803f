"""The convolution in CUDA C++, run on the CPU by an emulation of a GPU's threads, against torch in 64 bits."""

import ctypes
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

pytest.importorskip("triton", reason="triton is not installed")

from pencil.kernels import _cuda, _nvrtc

CHANNELS = 32
CALL = """
extern "C" int shared_bytes() { return max(IMAGE_BYTES + RING * TAP_BYTES, ROWS * RESULT_PITCH * 4); }
extern "C" void run(int programs, const u16* image, const u16* kernel, u16* out, float* partial, const u16* extra,
                    const float* moments, const float* weight, const float* bias, u16* active, float* running_mean,
                    float* running_var, long long* batches, int batch, double momentum, double eps) {
    launch(programs, OUTSIDE / PART, 1, THREADS, [=] {
        conv3x3(image, kernel, out, partial, extra, moments, weight, bias, active, running_mean, running_var, batches,
                batch, momentum, eps);
    });
}
"""


def _images(batch: int, height: int, width: int) -> Tensor:
    return torch.randn(batch, CHANNELS, height, width).bfloat16().contiguous(memory_format=torch.channels_last)


def _apart(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm())


def _wide(values: Tensor) -> Tensor:
    return values.double().view(1, -1, 1, 1)


@pytest.mark.parametrize(
    ("batch", "height", "width", "way"),
    [
        (2, 32, 32, "forward"),
        (1, 32, 32, "forward with a shortcut"),
        (1, 32, 32, "backward"),
        (9, 8, 8, "forward with a shortcut"),  # eight images to a program: the second has one
        (9, 8, 8, "backward"),
        (1, 16, 64, "backward"),
    ],
)
def test_a_convolution_with_what_stands_around_it(
    batch: int, height: int, width: int, way: str, build: Callable[..., ctypes.CDLL]
) -> None:
    torch.manual_seed(0)
    turned, extra = way == "backward", way != "forward"
    sizes = _cuda.conv_sizes(height, width, turned=turned, norm=not turned, extra=extra)
    library = build(f"{_nvrtc.source('conv3x3.cu')}{CALL}", sizes)
    assert library.shared_bytes() == _cuda.conv_shared(sizes)

    image, beside = _images(batch, height, width), _images(batch, height, width)
    kernel = (0.1 * torch.randn(CHANNELS, CHANNELS, 3, 3)).bfloat16().contiguous(memory_format=torch.channels_last)
    moments = torch.stack([0.3 * torch.randn(CHANNELS), torch.rand(CHANNELS) + 0.5])
    weight, bias = torch.randn(CHANNELS), torch.randn(CHANNELS)
    running_mean, running_var, batches = torch.zeros(CHANNELS), torch.ones(CHANNELS), torch.tensor(4)
    rows = batch * height * width
    programs = -(-rows // _cuda.ROWS)
    out, active = torch.zeros_like(image), torch.zeros_like(image)
    partial = torch.full((programs, 2, CHANNELS), float("nan"))
    tensors = [image, kernel, out, partial, beside, moments, weight, bias, active, running_mean, running_var, batches]
    pointers: list[Any] = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
    library.run(programs, *pointers, batch, ctypes.c_double(0.1), ctypes.c_double(1e-5))

    inverse = 1 / (moments[1].double() + 1e-5).sqrt()
    given, found, sums = image.double(), out.double(), partial.double()
    if turned:
        away = beside.double() - _wide(moments[0])
        expected = functional.conv_transpose2d(given, kernel.double(), padding=1)
        expected = torch.where(away * _wide(weight * inverse) + _wide(bias) > 0, expected, 0.0)
        assert _apart(sums[:, 0].sum(0), (found * away).sum((0, 2, 3)) * inverse) < 1e-5
        assert _apart(sums[:, 1].sum(0), found.sum((0, 2, 3))) < 1e-5
    else:
        normal = torch.relu((given - _wide(moments[0])) * _wide(weight * inverse) + _wide(bias))
        assert _apart(active, normal) < 3e-3
        expected = functional.conv2d(active.double(), kernel.double(), padding=1) + (beside.double() if extra else 0)
        counts = torch.tensor([[min(_cuda.ROWS, rows - n * _cuda.ROWS)] for n in range(programs)])
        mean = (sums[:, 0] * counts).sum(0) / rows
        spread = (sums[:, 1] + counts * (sums[:, 0] - mean) ** 2).sum(0) / rows
        assert _apart(mean, found.mean((0, 2, 3))) < 1e-5
        assert _apart(spread, found.var((0, 2, 3), unbiased=False)) < 1e-5
        torch.testing.assert_close(running_mean, 0.1 * moments[0])
        torch.testing.assert_close(running_var, 0.9 + 0.1 * moments[1] * rows / (rows - 1))
        assert batches == 5
    assert _apart(out, expected) < 3e-3


def test_other_sizes_and_machines_are_left_to_others() -> None:
    kernel = torch.zeros(CHANNELS, CHANNELS, 3, 3, dtype=torch.bfloat16)
    assert not _cuda.convolves(_images(1, 32, 32), kernel)  # not on a GPU
    sizes = [(32, 32), (8, 8), (16, 64), (64, 32), (32, 28), (12, 16), (24, 8), (24, 32), (1, 8)]
    assert [_cuda.divides(*size) for size in sizes] == [True, True, True, True, False, False, False, False, True]
