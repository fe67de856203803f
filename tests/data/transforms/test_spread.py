"""The number of directions that rows spread in, against its definition by eigenvalues."""

import numpy as np
import pytest
from numpy.typing import NDArray

from pencil.config import DataSettings
from pencil.data import ArrayInputs, from_arrays, prepare
from pencil.data.transforms.spread import directions


def found(rows: NDArray[np.floating]) -> float:
    dataset = prepare(from_arrays(rows, np.arange(len(rows)) % 2), DataSettings(source="rows", held_out=0.0), seed=0)
    assert isinstance(dataset.train.inputs, ArrayInputs)
    return directions(dataset.train.inputs, dataset.preparation)


@pytest.mark.parametrize("columns", [1, 8, 60])
def test_columns_that_do_not_go_together_are_a_direction_each(columns: int) -> None:
    rows = np.random.default_rng(0).normal(size=(900, columns)) * np.arange(1, columns + 1)
    assert found(rows) == pytest.approx(columns, rel=0.05)


def test_columns_that_say_the_same_are_one_direction() -> None:
    one = np.random.default_rng(0).normal(size=(400, 1))
    assert found(np.concatenate([one, -2 * one, one + 5], axis=1)) == pytest.approx(1, rel=0.02)


def test_it_is_what_the_eigenvalues_say_whatever_the_number_of_rows() -> None:
    rng = np.random.default_rng(1)
    mixed = rng.normal(size=(20_000, 40)) @ rng.normal(size=(40, 120))
    values = np.linalg.eigvalsh(np.corrcoef(mixed.T))
    wanted = values.sum() ** 2 / np.square(values).sum()
    assert found(mixed) == pytest.approx(wanted, rel=0.05)
    assert found(mixed[:150]) == pytest.approx(wanted, rel=0.3), "few rows are far from each other by chance"


@pytest.mark.parametrize("rows", [np.ones((6, 3)), np.eye(2)])
def test_rows_that_tell_nothing_are_a_direction_or_two(rows: NDArray[np.floating]) -> None:
    assert 1 <= found(rows) <= 2
