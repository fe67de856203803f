"""How rows spread and how labels pull, against their definitions by eigenvalues and by a gradient."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from pencil.config import DataSettings
from pencil.data import ArrayInputs, from_arrays, prepare
from pencil.data.transforms.spread import pull, spread


def directions(rows: NDArray[np.floating]) -> float:
    dataset = prepare(from_arrays(rows, np.arange(len(rows)) % 2), DataSettings(source="rows", held_out=0.0), seed=0)
    assert isinstance(dataset.train.inputs, ArrayInputs)
    return spread(dataset.train, dataset.preparation, 2).directions


@pytest.mark.parametrize("columns", [1, 8, 60])
def test_columns_that_do_not_go_together_are_a_direction_each(columns: int) -> None:
    rows = np.random.default_rng(0).normal(size=(900, columns)) * np.arange(1, columns + 1)
    assert directions(rows) == pytest.approx(columns, rel=0.05)


def test_columns_that_say_the_same_are_one_direction() -> None:
    one = np.random.default_rng(0).normal(size=(400, 1))
    assert directions(np.concatenate([one, -2 * one, one + 5], axis=1)) == pytest.approx(1, rel=0.02)


def test_it_is_what_the_eigenvalues_say_whatever_the_number_of_rows() -> None:
    rng = np.random.default_rng(1)
    mixed = rng.normal(size=(20_000, 40)) @ rng.normal(size=(40, 120))
    values = np.linalg.eigvalsh(np.corrcoef(mixed.T))
    wanted = values.sum() ** 2 / np.square(values).sum()
    assert directions(mixed) == pytest.approx(wanted, rel=0.05)
    assert directions(mixed[:150]) == pytest.approx(wanted, rel=0.3), "few rows are far from each other by chance"


@pytest.mark.parametrize("rows", [np.ones((6, 3)), np.eye(2)])
def test_rows_that_tell_nothing_are_a_direction_or_two(rows: NDArray[np.floating]) -> None:
    assert 1 <= directions(rows) <= 2


@pytest.mark.parametrize(("columns", "classes"), [(3, 7), (40, 4)])
def test_the_pull_is_the_largest_gradient_at_weights_of_no_size(columns: int, classes: int) -> None:
    drawn = torch.Generator().manual_seed(0)
    rows = torch.randn(200, columns, dtype=torch.float64, generator=drawn)
    labels = torch.randint(classes, (200,), generator=drawn)
    shares = torch.bincount(labels, minlength=classes) / len(labels)
    weights = torch.zeros(columns, classes, dtype=torch.float64, requires_grad=True)
    cross_entropy(rows @ weights + shares.log(), labels).backward()  # type: ignore[no-untyped-call]
    assert weights.grad is not None
    wanted = float(torch.linalg.matrix_norm(weights.grad, ord=2))
    assert pull(rows, labels, classes) == pytest.approx(wanted)
    unknown = torch.cat([labels, torch.full((50,), -1)])
    assert pull(torch.cat([rows, 9 * rows[:50]]), unknown, classes) == pytest.approx(wanted)


def test_nothing_pulls_where_no_label_is_known() -> None:
    assert pull(torch.randn(5, 3), torch.full((5,), -1), 2) == 0
