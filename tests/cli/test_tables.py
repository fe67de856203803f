"""Tables of numbers and words, and columns of embeddings: from the file to predictions, on real data."""

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA

from .conftest import Command

SHORT = ("--epochs", "8,1,1", "--set", "hardware.threads=1")


@pytest.fixture(params=["words", "embeddings"])
def table(request: pytest.FixtureRequest, place: Path) -> tuple[Path, list[str]]:
    """A file and its true labels."""
    if request.param == "words":
        wine = load_wine()
        columns = {f"f{n}": wine.data[:, n] for n in range(12)}
        columns["last"] = np.where(wine.data[:, 12] < 700, "little", "much")
        names = wine.target_names[wine.target]
        pa.csv.write_csv(pa.table({**columns, "label": names}), "table.csv")
        return Path("table.csv"), names.tolist()
    digits = load_digits(n_class=4)
    embedding = PCA(16, random_state=0).fit_transform(digits.data)
    pa.parquet.write_table(pa.table({"embedding": list(embedding), "label": digits.target}), "table.parquet")
    return Path("table.parquet"), [str(label) for label in digits.target]


def test_a_file_is_learned_from_and_its_rows_are_recognised(pencil: Command, table: tuple[Path, list[str]]) -> None:
    path, truth = table
    ended = pencil("train", path, "--noise", "symmetric:0.3", "--out", "run", *SHORT)
    assert ended.code == 0, ended.err
    found = [row["predicted"] for row in csv.DictReader(io.StringIO(pencil("predict", "run", path).out))]
    assert np.mean(np.array(found) == np.array(truth)) > 0.85, "0.8 of the labels were right"
    wider = pa.table({"other": [1.0, 2.0]})
    pa.parquet.write_table(wider, "other.parquet")
    assert "has no column" in pencil("predict", "run", "other.parquet").line
