"""A table and a column of embeddings, from files to corrected labels by the command line: python examples/tables.py"""

import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA

random = np.random.default_rng(0)


def spoil(truth, share=0.3):
    """Replace a share of the labels by random ones."""
    return np.where(random.random(len(truth)) < share, random.integers(truth.max() + 1, size=len(truth)), truth)


def pencil(*words):
    print("$ pencil", *words)
    subprocess.run([sys.executable, "-m", "pencil", *words, "--quiet"], check=True)


def tell(run, truth):
    table = pa.parquet.read_table(f"{run}/labels.parquet")
    right = truth[np.asarray(table["id"]).astype(int)]
    before, after = (100 * np.mean(np.asarray(table[name]) == right) for name in ("given", "corrected"))
    print(f"correct labels: {before:.1f}% given, {after:.1f}% after training")


with tempfile.TemporaryDirectory() as place:
    # Wine: thirteen measurements, one of them as a word, and the grower's number as label.
    wine = load_wine()
    columns = {name.replace("/", "_"): wine.data[:, n] for n, name in enumerate(wine.feature_names)}
    columns["hue"] = np.where(columns["hue"] < 0.8, "pale", np.where(columns["hue"] < 1.1, "medium", "deep"))
    ids = range(len(wine.target))
    pa.csv.write_csv(pa.table({"id": ids, **columns, "grower": spoil(wine.target)}), f"{place}/wine.csv")
    pencil("train", f"{place}/wine.csv", "--set", "data.options.label=grower", "--out", f"{place}/wine")
    tell(f"{place}/wine", wine.target)

    # Embeddings: here the first 24 principal components of images; any model's vectors do.
    digits = load_digits()
    embedding = PCA(24, random_state=0).fit_transform(digits.data).astype(np.float32)
    table = pa.table({"id": range(len(embedding)), "embedding": list(embedding), "label": spoil(digits.target)})
    pa.parquet.write_table(table, f"{place}/digits.parquet")
    pencil("train", f"{place}/digits.parquet", "--epochs", "5,9,3", "--out", f"{place}/digits")
    tell(f"{place}/digits", digits.target)
