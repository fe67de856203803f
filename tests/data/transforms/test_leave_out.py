"""Rows that lack columns: how many, which, and on what that depends."""

import pytest
import torch
from torch import Tensor

from pencil.data.transforms.leave_out import MOST, leave_out

ROWS, COLUMNS = 500, 40


def of(row_BD: Tensor, share: float, *, seed: int = 0, epoch: int = 0, index: Tensor | None = None) -> Tensor:
    index = torch.arange(len(row_BD)) if index is None else index
    return leave_out(row_BD, share / MOST, seed, torch.tensor([epoch]), index)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.4])
def test_as_many_columns_are_left_out_of_rows_as_of_columns_and_neighbours_differ(share: float) -> None:
    gone = of(torch.ones(ROWS, COLUMNS), share) == 0
    spread = (share * (1 - share)) ** 0.5
    assert abs(gone.float().mean() - share) < 4 * spread / (ROWS * COLUMNS) ** 0.5
    assert (gone.float().mean(0) - share).abs().max() < 5 * spread / ROWS**0.5
    assert (gone.float().mean(1) - share).abs().max() < 5 * spread / COLUMNS**0.5
    # Independent: two rows, or two columns, lack the same cell as often as chance has it.
    for one, other in ((gone[1:], gone[:-1]), (gone[:, 1:], gone[:, :-1])):
        assert abs((one & other).float().mean() - share**2) < 0.015


def test_what_is_left_grows_so_that_the_mean_stays() -> None:
    rows = torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(0))
    seen = of(rows, 0.2)
    kept = seen != 0
    torch.testing.assert_close(seen[kept], rows[kept] / 0.8)
    assert abs(of(torch.ones(ROWS, COLUMNS), 0.2).mean() - 1) < 0.02


def test_it_depends_on_seed_epoch_and_example_alone() -> None:
    rows, order = torch.ones(ROWS, COLUMNS), torch.randperm(ROWS, generator=torch.Generator().manual_seed(1))
    whole = of(rows, 0.3, seed=3, epoch=5)
    assert torch.equal(of(rows[order], 0.3, seed=3, epoch=5, index=order), whole[order])
    for other in (of(rows, 0.3, seed=4, epoch=5), of(rows, 0.3, seed=3, epoch=6)):
        assert (other != whole).float().mean() > 0.3


def test_nothing_is_left_out_of_a_share_of_none() -> None:
    rows = torch.randn(ROWS, COLUMNS)
    assert torch.equal(of(rows, 0.0), rows)


def test_compiled_it_does_the_same() -> None:
    compiled = torch.compile(leave_out, fullgraph=True, dynamic=False, backend="aot_eager")
    rows = torch.randn(64, COLUMNS, generator=torch.Generator().manual_seed(0))
    arguments = (1.0, 3, torch.tensor([5]), torch.arange(64))
    torch.testing.assert_close(compiled(rows, *arguments), leave_out(rows, *arguments))
