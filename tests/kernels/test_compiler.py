"""The compiler knows the operators, and compiles what uses them."""

import inspect
import re

import pytest
import torch
from torch import Tensor

from pencil.kernels import block_ops, introduce_operators, ops


def test_the_compiler_knows_every_operator_and_the_layout_it_needs() -> None:
    from torch._inductor.lowering import lowerings

    introduce_operators()
    for room in (ops, block_ops):
        assert re.findall(r'custom_op\("pencil::(\w+)"', inspect.getsource(room)) == list(room.NAMES)
        assert all(getattr(torch.ops.pencil, name).default in lowerings for name in room.NAMES)


def test_compiled_code_still_calls_them() -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    introduce_operators()

    def twice(x: Tensor) -> Tensor:
        found: Tensor = ops.moments(x * 2) * 3
        return found

    x = torch.randn(4, 8, 2, 2).contiguous(memory_format=torch.channels_last)
    seen = torch.compile(twice, dynamic=False)(x)
    torch.testing.assert_close(seen[0], 6 * x.mean((0, 2, 3)))


def test_another_torch_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import lowering

    introduce_operators.cache_clear()
    monkeypatch.setattr(lowering, "lowerings", {})
    monkeypatch.delattr(lowering, "make_fallback")
    introduce_operators()
    assert not lowering.lowerings
    introduce_operators.cache_clear()
