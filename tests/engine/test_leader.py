"""What the leading process says counts in all of them."""

from typing import Any

import pytest
import torch

from pencil.runtime import ALONE
from pencil.runtime.processes import Launched


@pytest.mark.parametrize("rank", [0, 1])
def test_the_leaders_number_counts(monkeypatch: pytest.MonkeyPatch, rank: int) -> None:
    def together(tensor: torch.Tensor, op: Any) -> None:
        assert op == torch.distributed.ReduceOp.SUM
        tensor += 0.0 if rank == 0 else 2.5  # What the other one hands in.

    monkeypatch.setattr(torch.distributed, "all_reduce", together)
    process = Launched(rank, 2, torch.device("cpu"))
    assert process.leader_number(2.5 if rank == 0 else 7.25) == 2.5
    assert ALONE.leader_number(1.25) == 1.25
