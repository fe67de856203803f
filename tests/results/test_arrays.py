"""Weights by name."""

from pathlib import Path

import numpy as np
import pytest

from pencil.errors import PencilError
from pencil.results.arrays import load_weights, save_weights
from pencil.results.distributions import read_distribution_rows, read_distributions


def test_weights_come_back_in_value_shape_and_type(tmp_path: Path) -> None:
    weights = {"conv.weight": np.arange(24, dtype=np.float16).reshape(2, 3, 4), "steps": np.array(5)}
    save_weights(tmp_path / "model.safetensors", weights)
    loaded = load_weights(tmp_path / "model.safetensors")
    assert loaded.keys() == weights.keys()
    for name, array in weights.items():
        assert loaded[name].dtype == array.dtype and np.array_equal(loaded[name], array)


def test_weights_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(PencilError, match=r"model.safetensors does not exist"):
        load_weights(path)
    save_weights(path, {"a": np.zeros(100)})
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(PencilError, match=r"model.safetensors is damaged"):
        load_weights(path)


def test_a_file_of_other_arrays_is_not_taken_for_distributions(tmp_path: Path) -> None:
    path = tmp_path / "label_distributions.safetensors"
    save_weights(path, {"a": np.zeros(100)})
    with pytest.raises(PencilError, match=r"it holds no label_distributions"):
        read_distributions(path)
    with pytest.raises(PencilError, match=r"is damaged"):
        read_distribution_rows(path, 0, 1)
