"""Small JSON files."""

from pathlib import Path

import numpy as np
import pytest

from pencil.errors import PencilError
from pencil.results.documents import (
    plain,
    read_classes,
    read_json,
    read_object,
    write_classes,
    write_json,
    write_split,
)


def test_equal_values_give_equal_files_whatever_the_order_of_keys(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": 1, "a": "ŷ"})
    write_json(tmp_path / "b.json", {"a": "ŷ", "b": 1})
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n  "a": "ŷ",\n  "b": 1\n}\n'
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_numpy_values_and_not_a_number_become_plain() -> None:
    value = {
        "a": np.float32(0.5),
        "b": (np.int64(3), float("nan")),
        "c": np.array([1.0, np.inf]),
        "d": Path("x"),
        1: True,
    }
    assert plain(value) == {"a": 0.5, "b": [3, None], "c": [1.0, None], "d": "x", "1": True}


def test_classes_come_back_in_order(tmp_path: Path) -> None:
    write_classes(tmp_path / "classes.json", ["zebra", "ant", "ant bear"])
    assert read_classes(tmp_path / "classes.json") == ("zebra", "ant", "ant bear")


def test_the_split_holds_counts_not_ids(tmp_path: Path) -> None:
    write_split(tmp_path / "split.json", train=90, held_out=10, test=0, fingerprint="ab", inputs="cd", seed=3)
    assert read_object(tmp_path / "split.json") == {
        "train": 90, "held_out": 10, "test": 0, "fingerprint": "ab", "inputs": "cd", "seed": 3,
    }  # fmt: skip


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(PencilError, match=r"a.json does not exist"):
        read_json(path)
    path.write_bytes(b'{"a": ')
    with pytest.raises(PencilError, match=r"a.json is damaged"):
        read_json(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(PencilError, match=r"a.json is damaged"):
        read_json(path)
    path.write_bytes(b"[1]")
    with pytest.raises(PencilError, match=r"a.json is damaged .it holds no JSON object"):
        read_object(path)
    with pytest.raises(PencilError, match=r"a.json is damaged .it holds no list of names"):
        read_classes(path)
