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

from .conftest import QUICK, Command

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


def test_empty_cells_are_said_and_do_no_harm(pencil: Command) -> None:
    wine = load_wine()
    gaps = np.random.default_rng(0).random(wine.data.shape) < 0.1
    columns = {f"f{n}": pa.array(wine.data[:, n], mask=gaps[:, n]) for n in range(13)}
    pa.csv.write_csv(pa.table({**columns, "label": wine.target_names[wine.target]}), "table.csv")
    ended = pencil("train", "table.csv", "--out", "run", *SHORT)
    told = f'{gaps.sum()} cells of 13 columns, "f0" and others are empty'
    assert ended.code == 0 and told in ended.err
    ended = pencil("predict", "run", "table.csv")
    found = [row["predicted"] for row in csv.DictReader(io.StringIO(ended.out))]
    assert np.mean(np.array(found) == wine.target_names[wine.target]) > 0.9 and told in ended.err


def test_a_colon_in_a_path_is_no_address(pencil: Command) -> None:
    wine = load_wine()
    Path("march:1").mkdir()
    with open("march:1/table.parquet", "wb") as file:
        columns = {f"f{n}": wine.data[:, n] for n in range(13)}
        pa.parquet.write_table(pa.table({**columns, "label": wine.target_names[wine.target]}), file)
    for command in (
        ("train", "march:1/table.parquet", "--out", "symmetric:0.4", *QUICK),
        ("predict", "symmetric:0.4", "march:1/table.parquet", "--out", "march:1/new.parquet"),
        ("export", "symmetric:0.4", "--to", "parquet", "--out", "march:1/labels.parquet"),
    ):
        ended = pencil(*command)
        assert ended.code == 0, ended.err
    assert Path("march:1/new.parquet").stat().st_size and Path("march:1/labels.parquet").stat().st_size
