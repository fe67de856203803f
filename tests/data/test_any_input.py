"""Whatever is in a table, a label file or an array: a dataset that fits it, or one clear line."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from pencil.config import DataSettings
from pencil.data import from_arrays
from pencil.data.load import load
from pencil.errors import PencilError

CELLS = st.one_of(
    st.text(max_size=6), st.sampled_from(["", "1", "-1", "nan", "inf", "1e999", "cat", "label", "NULL"]), st.integers()
)
LABELS = st.one_of(
    arrays(np.int64, array_shapes(max_dims=2, max_side=6), elements=st.integers(-3, 5)),
    arrays(np.float32, array_shapes(max_dims=2, max_side=6), elements=st.floats(width=32)),
    st.lists(st.one_of(st.none(), st.text(max_size=3), st.integers(-2, 3)), max_size=6),
)
INPUTS = arrays(
    st.sampled_from([np.uint8, np.float32, np.float64, np.int16, np.bool_]),
    array_shapes(min_dims=1, max_dims=5, max_side=5),
)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=8), named=st.booleans())
def test_any_table(rows: list[list[Any]], named: bool) -> None:
    header = ["label", "a", "b", "c"][: len(rows[0])]
    with TemporaryDirectory() as place:
        path = Path(place, "table.csv")
        with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
            csv.writer(file).writerows([header, *rows] if named else rows)
        try:
            dataset = load(DataSettings(source=str(path), held_out=0.0), seed=0, cache_dir=Path(place))
        except PencilError as error:
            assert str(error)
        else:
            assert 2 <= len(dataset.train) <= len(rows)
            assert dataset.train.given.max() < dataset.num_classes


@pytest.mark.filterwarnings("error:invalid value encountered in cast")
@settings(max_examples=150, deadline=None)
@given(x=INPUTS, y=LABELS)
def test_any_arrays(x: Any, y: Any) -> None:
    try:
        dataset = from_arrays(x, y)
    except PencilError as error:
        assert str(error)
    else:
        assert len(dataset.train) == len(x) and dataset.train.given.max() < len(dataset.class_names)


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=60), end=st.sampled_from(["txt", "csv", "npy", "npz", "pt", "parquet"]))
def test_any_label_file(content: bytes, end: str) -> None:
    with TemporaryDirectory() as place:
        rows, labels = Path(place, "rows.npz"), Path(place, f"labels.{end}")
        np.savez(rows, x=np.eye(4, dtype=np.float32), y=np.arange(4) % 2)
        labels.write_bytes(content)
        how = DataSettings(source=str(rows), labels=str(labels), held_out=0.0)
        try:
            dataset = load(how, seed=0, cache_dir=Path(place))
        except PencilError as error:
            assert str(error)
        else:
            assert len(dataset.train) == 4
