"""Inputs that are taken as they are: any shape, floats or whole numbers, nothing scaled."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from pencil.config import DataSettings
from pencil.data import from_arrays, from_torch
from pencil.data.load import load
from pencil.errors import PencilError

Y = np.arange(6) % 2


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.arange(24, dtype=np.int64).reshape(6, 4), np.int32),
        (np.arange(24, dtype=np.uint16).reshape(6, 2, 2), np.int32),
        (np.full((6, 2), 2**40), np.int64),
        (np.full((6, 2), 2**32 - 1, dtype=np.uint32), np.int64),
        (np.ones((6, 3), dtype=np.bool_), np.int32),
        (np.linspace(-5, 900, 6 * 2 * 3 * 4 * 5).reshape(6, 2, 3, 4, 5), np.float32),
        (torch.full((6, 2), -1.5, dtype=torch.bfloat16), np.float32),
    ],
)
def test_numbers_stay_what_they_are(given: Any, kept: type) -> None:
    data = from_arrays(given, Y, raw=True)
    found = data.train.inputs.read(np.arange(6))
    assert found.dtype == kept
    np.testing.assert_array_equal(found, np.asarray(given.float() if torch.is_tensor(given) else given).astype(kept))
    assert data.preparation.kind == "tensors" and data.preparation.raw_shape == tuple(given.shape[1:])
    assert data.preparation.whole == (kept is not np.float32) and not data.preparation.mean
    assert data.default_backbone == "" and not data.facts


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.ones(6), r"shape \(6,\); give \[n, …\]"),
        (np.empty((0, 3)), r"shape \(0, 3\)"),
        (np.array([["a", "b"]] * 6), "give numbers, and texts as the numbers of their words"),
        (
            np.where(np.eye(6) > 0, np.nan, 1.0)[[1, 1, 1, 1, 1, 1]] * 0 + np.nan,
            "example 0 holds values that are missing",
        ),
        (
            np.array([[1.0], [2.0], [3.0], [np.inf], [0.0], [0.0]]),
            "example 3 holds values that are missing or infinite",
        ),
        (np.ma.masked_array(np.ones((6, 2)), mask=np.eye(6)[:, :2]), "masked values"),
    ],
)
def test_what_is_no_tensor_is_refused(given: Any, words: str) -> None:
    with pytest.raises(PencilError, match=words):
        from_arrays(given, Y, raw=True)


def test_a_test_set_is_of_the_same_kind() -> None:
    whole = np.arange(12).reshape(6, 2)
    assert from_arrays(whole, Y, test=(whole, Y), raw=True).test is not None
    with pytest.raises(PencilError, match="whole numbers and floats; give both as the same"):
        from_arrays(whole, Y, test=(whole / 2, Y), raw=True)


def test_a_torch_dataset_is_read_as_it_is() -> None:
    tokens = torch.arange(24).reshape(6, 4)
    data = from_torch(TensorDataset(tokens, torch.from_numpy(Y)), raw=True)
    found = data.train.inputs.read(np.array([5, 0]))
    assert found.dtype == np.int64 and found.tolist() == [[20, 21, 22, 23], [0, 1, 2, 3]]
    assert data.preparation.whole and data.train.inputs.read(np.arange(0)).dtype == np.int64
    series = from_torch(TensorDataset(torch.ones(6, 3, 2, dtype=torch.float64), torch.from_numpy(Y)), raw=True)
    assert series.preparation.raw_shape == (3, 2) and series.train.inputs.read(np.arange(1)).dtype == np.float32


class Uneven:
    """Gives another shape, or another type, from its third example on."""

    def __init__(self, later: Any) -> None:
        self.later = later

    def __len__(self) -> int:
        return 6

    def __getitem__(self, place: int) -> tuple[Any, int]:
        return (np.array([1, 2]) if place < 2 else self.later), place % 2


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (np.array([1, 2, 3]), r"example 2 has shape \(3,\), the first \(2,\)"),
        (np.array([0.5, 1]), "example 2 holds floats, the first whole numbers"),
        (np.float64(3), r"input of example 2 has shape \(\)"),
    ],
)
def test_uneven_examples_are_named(later: Any, words: str) -> None:
    data = from_torch(Uneven(later), raw=True)
    with pytest.raises(PencilError, match=words):
        data.train.inputs.read(np.arange(6))


def test_a_file_of_arrays_has_the_option(tmp_path: Path) -> None:
    np.savez(tmp_path / "series.npz", x=np.linspace(-3, 3, 60).reshape(6, 5, 2), y=Y)
    settings = DataSettings(source=str(tmp_path / "series.npz"), held_out=0.0, options={"raw": True})
    assert load(settings, seed=0).preparation.kind == "tensors"
    with pytest.raises(PencilError, match=r"no images as they are \(raw=True\)"):
        load(DataSettings(source=str(tmp_path / "series.npz"), held_out=0.0), seed=0)
    with pytest.raises(PencilError, match="augmentation is for images, this data is tensors"):
        load(DataSettings(source=settings.source, options={"raw": True}, augment={"flip": True}), seed=0)
