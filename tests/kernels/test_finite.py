"""The largest numbers of many tensors: whatever is not finite is found, wherever it is."""

import ctypes
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from pencil.kernels import _nvrtc, finite, largest

from .conftest import Build, OnGPU

CALL = """
#define AT(i) at[i]
#define MANY(i) eights[i]
extern "C" void run(int blocks, const u16** at, const int* eights, int* out) {
    launch(blocks, 1, 1, THREADS, [=] { find_largest(FORTY(AT), FORTY(MANY), out); });
}
"""


@pytest.fixture
def blocks(build: Build, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Look as if this were a GPU; returns how many blocks each launch has."""
    library = build(f"{_nvrtc.source('largest.cu')}{CALL}", finite.CONSTANTS)
    launched: list[int] = []

    def launch(device: Any, blocks: int, args: list[Any]) -> None:
        launched.append(blocks)
        *tensors, out = (arg for arg in args if isinstance(arg, Tensor))
        at = (ctypes.c_void_p * finite.TENSORS)(*[tensor.data_ptr() for tensor in tensors])
        eights = (ctypes.c_int * finite.TENSORS)(*[arg for arg in args if isinstance(arg, int)])
        library.run(blocks, at, eights, ctypes.c_void_p(out.data_ptr()))

    monkeypatch.setattr(finite, "_launch", launch)
    monkeypatch.setattr(finite, "takes", lambda tensor: tensor.dtype == torch.bfloat16 and tensor.numel() % 8 == 0)
    return launched


def _tensors() -> list[Tensor]:
    torch.manual_seed(0)
    sizes = [8, finite.PIECE, finite.PIECE + 8, 3 * finite.PIECE - 8, 24, *[16] * finite.TENSORS]
    return [torch.randn(size).bfloat16() for size in sizes] + [torch.randn(5), torch.randn(13).bfloat16()]


def test_the_largest_of_all(blocks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    tensors, asked, norm = _tensors(), [], torch._foreach_norm
    monkeypatch.setattr(torch, "_foreach_norm", lambda some, *args: asked.append(some) or norm(some, *args))
    *own, wide, odd = tensors
    many = finite.TENSORS
    for which, size in ((3, -300.0), (7, 400.0), (many + 2, -500.0), (many + 1, 600.0)):
        tensors[which][-1] = size
        both = [max(float(tensor.abs().max()) for tensor in some) for some in (own[:many], own[many:])]
        assert largest(tensors).tolist() == [*both, float(wide.abs().max()), float(odd.abs().max())]
    assert blocks == [1 + 1 + 2 + 3 + 1 + (many - 5), 5] * 4
    assert all(len({tensor.dtype for tensor in some}) == 1 for some in asked), "or torch takes them one by one"


@pytest.mark.parametrize("bad", [math.nan, -math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_found_wherever_it_is(blocks: list[int], bad: float) -> None:
    tensors = _tensors()
    assert largest(tensors).isfinite().all()
    for which in (0, 1, 2, 3, finite.TENSORS - 1, finite.TENSORS + 4, -2, -1):
        for at in {0, len(tensors[which]) // 2, len(tensors[which]) - 1}:
            before = tensors[which][at].clone()
            tensors[which][at] = bad
            found = largest(tensors)
            assert not found.isfinite().all()
            assert int((~found.isfinite()).sum()) == 1
            tensors[which][at] = before


def test_the_largest_finite_number_is_finite(blocks: list[int]) -> None:
    assert largest([torch.full((8,), torch.finfo(torch.bfloat16).max, dtype=torch.bfloat16)]).isfinite().all()
    assert torch.equal(largest([torch.zeros(8, dtype=torch.bfloat16)]), torch.zeros(1))


@pytest.mark.parametrize(
    ("tensor", "taken"),
    [
        (torch.zeros(16, 8, dtype=torch.bfloat16), True),
        (torch.zeros(4, 8, 3, 3, dtype=torch.bfloat16).contiguous(memory_format=torch.channels_last), True),
        (torch.zeros(16, 8), False),
        (torch.zeros(13, dtype=torch.bfloat16), False),
        (torch.zeros(17, dtype=torch.bfloat16)[1:], False),  # does not begin where 16 bytes do
        (torch.zeros(16, 16, dtype=torch.bfloat16)[:, :8], False),  # does not lie together
        (torch.zeros(0, dtype=torch.bfloat16), False),
    ],
)
def test_what_is_taken(monkeypatch: pytest.MonkeyPatch, tensor: Tensor, taken: bool) -> None:
    monkeypatch.setattr(_nvrtc, "_works", lambda wgmma: True)
    assert finite.takes(tensor.as_subclass(OnGPU)) == taken
    assert not finite.takes(tensor), "not on a GPU"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_on_a_gpu() -> None:
    tensors = [tensor.cuda() for tensor in _tensors()] + [torch.randn(512, 512, 3, 3, device="cuda").bfloat16()]
    assert largest(tensors).max() == max(tensor.abs().max() for tensor in tensors).float()
    for which in (0, 3, 20, -1):
        spoiled = [tensor.clone() for tensor in tensors]
        spoiled[which].view(-1)[-1] = math.nan
        assert largest(tensors).isfinite().all() and not largest(spoiled).isfinite().all()
