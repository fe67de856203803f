"""label_distributions.safetensors, dense and cut down."""

from pathlib import Path

import numpy as np
import pytest

from pencil.errors import PencilError
from pencil.results.distributions import (
    read_distribution_rows,
    read_distributions,
    write_distributions,
    write_top,
)


def test_kept_classes_come_back_and_the_rest_is_shared_evenly(tmp_path: Path) -> None:
    path = tmp_path / "label_distributions.safetensors"
    write_top(path, np.array([[3, 0], [1, 4]]), np.array([[0.7, 0.2], [0.5, 0.5]]), 5)
    expected = [[0.2, 0.1 / 3, 0.1 / 3, 0.7, 0.1 / 3], [0, 0.5, 0, 0, 0.5]]
    assert np.allclose(read_distributions(path), expected)
    assert np.allclose(read_distribution_rows(path, 1, 2), expected[1:])
    assert np.allclose(read_distributions(path).sum(1), 1)


def test_distributions_come_back_whole_or_by_rows(tmp_path: Path) -> None:
    path = tmp_path / "label_distributions.safetensors"
    distributions = np.random.default_rng(0).dirichlet(np.ones(3), 10)
    write_distributions(path, distributions)
    expected = distributions.astype(np.float32)
    assert read_distributions(path).dtype == np.float32
    assert np.array_equal(read_distributions(path), expected)
    assert np.array_equal(read_distribution_rows(path, 2, 5), expected[2:5])


def test_distributions_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "label_distributions.safetensors"
    for read in (read_distributions, lambda path: read_distribution_rows(path, 0, 1)):
        path.unlink(missing_ok=True)
        with pytest.raises(PencilError, match=r"label_distributions.safetensors does not exist"):
            read(path)
        path.write_bytes(b"nonsense")
        with pytest.raises(PencilError, match=r"label_distributions.safetensors is damaged"):
            read(path)
