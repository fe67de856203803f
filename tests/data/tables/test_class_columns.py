from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from pencil.config import DataSettings
from pencil.data.load import read
from pencil.data.tables import column, read_table


@pytest.fixture
def file(tmp_path: Path) -> Path:
    datasets = pytest.importorskip("datasets")
    kinds = {"a": datasets.Value("float32"), "label": datasets.ClassLabel(names=["wolf", "dog", "cat"])}
    rows = {"a": [0.0, 1.0, 2.0, 3.0, 4.0], "label": [0, 1, 2, -1, 1]}
    datasets.Dataset.from_dict(rows, features=datasets.Features(kinds)).to_parquet(tmp_path / "pets.parquet")
    return tmp_path / "pets.parquet"


def test_labels_have_the_names_that_the_file_holds(file: Path) -> None:
    found = read(DataSettings(source=str(file)))
    assert found.class_names == ("cat", "dog", "wolf")
    assert [found.class_names[place] if place >= 0 else "" for place in found.train.given] == [
        "wolf", "dog", "cat", "", "dog",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "described",
    [b"{", b"[]", b'{"info": 1}', b'{"info": {"features": {"label": {"_type": "ClassLabel", "names": ["wolf"]}}}}'],
)
def test_numbers_stay_where_the_names_do_not_fit(tmp_path: Path, described: bytes) -> None:
    table = pa.table({"a": [1.0, 2.0], "label": [0, 1]}).replace_schema_metadata({b"huggingface": described})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    assert column(read_table(tmp_path / "t.parquet"), "label").to_pylist() == [0, 1]
