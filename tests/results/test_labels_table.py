"""labels.parquet."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pencil.errors import PencilError
from pencil.results.labels_table import (
    build_labels,
    read_labels,
    write_labels,
)

COLUMNS = [
    "index", "id", "given", "given_name", "corrected", "corrected_name", "confidence", "entropy", "quality", "network",
    "changed_at", "num_changes", "decision", "split", "trusted",
]  # fmt: skip


def columns(**changes: Any) -> dict[str, Any]:
    """Three examples of two classes: a changed one, an untouched one, and one held out without a label."""
    return {
        "class_names": ("cat", "dog"),
        "ids": np.array(["a/1.png", "a/2.png", "ü.png"]),
        "given": np.array([0, 1, -1]),
        "corrected": np.array([1, 1, 0]),
        "confidence": np.array([0.9, 0.75, 0.5]),
        "entropy": np.array([0.325, 0.562, 0.693]),
        "quality": np.array([0.1, 0.75, np.nan]),
        "network": np.array([1, 1, 0]),
        "changed_at": np.array([12, -1, -1]),
        "num_changes": np.array([1, 0, 0]),
        "decision": np.array(["relabel", "keep", "review"]),
        "split": np.array(["train", "train", "held-out"]),
    } | changes


def test_columns_and_nulls_are_those_of_the_contract() -> None:
    table = build_labels(**columns())
    assert table.column_names == COLUMNS
    assert table.to_pylist()[0] == {
        "index": 0, "id": "a/1.png", "given": 0, "given_name": "cat", "corrected": 1, "corrected_name": "dog",
        "confidence": 0.9, "entropy": 0.325, "quality": 0.1, "network": 1, "changed_at": 12, "num_changes": 1,
        "decision": "relabel", "split": "train", "trusted": False,
    }  # fmt: skip
    assert table["changed_at"].to_pylist() == [12, None, None]
    assert table["given_name"].to_pylist() == ["cat", "dog", None]
    assert table["given"].to_pylist() == [0, 1, None]
    assert table["quality"].to_pylist() == [0.1, 0.75, None]
    assert table["num_changes"].to_pylist() == [1, 0, 0]
    assert build_labels(**columns(trusted=[False, True, False]))["trusted"].to_pylist() == [False, True, False]


def test_clean_is_there_only_where_known() -> None:
    table = build_labels(**columns(clean=np.array([1, -1, 0])))
    assert table.column_names == [*COLUMNS, "clean"]
    assert table["clean"].to_pylist() == [1, None, 0]
    assert build_labels(**columns(clean=np.array([-1, -1, -1]))).column_names == COLUMNS


def test_positions_and_plain_lists_are_taken_as_given() -> None:
    table = build_labels(**columns(index=[5, 9, 7], ids=["x", "y", "z"], decision=["keep"] * 3))
    assert table["index"].to_pylist() == [5, 9, 7]
    assert table["id"].to_pylist() == ["x", "y", "z"]


def test_no_examples_make_an_empty_table() -> None:
    empty = {name: value[:0] for name, value in columns().items() if name != "class_names"}
    table = build_labels(class_names=("cat", "dog"), **empty)
    assert table.num_rows == 0 and table.column_names == COLUMNS


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    # A folder called like a setting must not become a column.
    path = tmp_path / "lr=0.1" / "labels.parquet"
    path.parent.mkdir()
    table = build_labels(**columns(clean=np.array([1, 1, 0])))
    write_labels(path, table)
    assert read_labels(path).equals(table)


def test_a_folder_with_a_colon_in_its_name_is_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("symmetric:0.4/labels.parquet")
    path.parent.mkdir()
    table = build_labels(**columns())
    write_labels(path, table)
    assert read_labels(path).equals(table)


def test_labels_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    with pytest.raises(PencilError, match=r"labels.parquet does not exist"):
        read_labels(path)
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(PencilError, match=r"labels.parquet is damaged"):
        read_labels(path)
    pq.write_table(pa.table({"index": [1]}), path)
    with pytest.raises(PencilError, match=r"labels.parquet is damaged .it has no column id, given"):
        read_labels(path)


def test_damaged_content_behind_a_whole_header_is_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    ids = np.random.default_rng(0).integers(0, 10**9, 3000).astype(str)
    n = len(ids)
    wide = {name: np.resize(value, n) for name, value in columns().items() if name not in ("class_names", "ids")}
    write_labels(path, build_labels(class_names=("cat", "dog"), ids=ids, **wide))
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 4)
    path.write_bytes(content)
    with pytest.raises(PencilError, match=r"labels.parquet is damaged"):
        read_labels(path)


def test_a_column_of_another_kind_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    write_labels(path, build_labels(**columns()))
    whole = read_labels(path)
    for name, values in {"quality": [1] * len(whole), "given": ["x"] * len(whole), "id": [[1]] * len(whole)}.items():
        place = whole.column_names.index(name)
        write_labels(path, whole.set_column(place, name, pa.array(values)))
        with pytest.raises(PencilError, match=rf"labels.parquet is damaged .its column {name} is not one of type"):
            read_labels(path)
