"""`pencil audit` scores labels with a finished run, as the run scores its own held-out ones, and trains nothing."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pencil.audit import Audit
from pencil.quality.decide import decide
from pencil.quality.score import score
from pencil.run import Predictions

from .conftest import Command, listing, write_rows

TRAINED = ("--backbone", "mlp", "--epochs", "15,1,1", "--set", "hardware.threads=1", "--set", "optimizer.batch_size=16")


def clouds(seed: int) -> np.ndarray:
    """Three clouds of points so far apart that any network tells them."""
    points = np.random.default_rng(seed).normal(size=(120, 3)) + 8 * np.eye(3)[np.arange(120) % 3]
    return points.astype(np.float32)


def test_labels_are_scored_by_the_network_as_held_out_ones_are(pencil: Command, trained: Path, rows: Path) -> None:
    before = listing(trained)
    ended = pencil("audit", trained, rows, "--out", "audit.parquet")
    assert (ended.code, ended.out) == (0, ""), ended.err
    assert listing(trained) == before, "nothing is trained or written in the run folder"
    audited = {row["id"]: row for row in pq.read_table("audit.parquet").to_pylist()}
    assert len(audited) == 120
    own = [row for row in pq.read_table(trained / "labels.parquet").to_pylist() if row["split"] == "held-out"]
    classes = {row["given"]: row["given_name"] for row in own}
    assert len(own) == 36 and {row["decision"] for row in own} > {"keep"}
    for row in own:
        found = audited[row["id"]]
        # What is suggested is the network's own; of its noise a run knows more than of that of new labels.
        assert (found["given"], found["suggested"]) == (row["given_name"], classes[row["network"]])
        assert (found["decision"] == "keep") == (row["decision"] == "keep")
        assert found["quality"] == pytest.approx(row["quality"], abs=1e-5)


def test_a_network_that_may_know_too_little_replaces_none_unseen(pencil: Command, trained: Path, rows: Path) -> None:
    decisions = [row["decision"] for row in json.loads(pencil("audit", trained, rows, "--json").out)]
    assert "relabel" in decisions
    result = json.loads((trained / "result.json").read_text())
    (trained / "result.json").write_text(json.dumps(result | {"caution": "the network may well be wrong."}))
    (trained / "checksums.json").unlink()
    ended = pencil("audit", trained, rows, "--json")
    careful = [row["decision"] for row in json.loads(ended.out)]
    assert careful == [decision.replace("relabel", "review") for decision in decisions]
    assert "the network may well be wrong." in ended.err


def test_many_different_labels_that_are_no_class_are_counted() -> None:
    names = tuple(f"name {number % 200}" for number in range(400))
    shares, none = np.full((400, 2), 0.5, dtype=np.float32), np.full(400, -1)
    predictions = Predictions(np.arange(400).astype(str), ("a", "b"), shares, none, names)
    scores = score(shares, None, none)
    assert Audit(predictions, scores, decide(scores, none)).unknown == dict.fromkeys(names, 2)


def test_wrong_labels_are_found_and_told(pencil: Command, place: Path) -> None:
    clean = np.arange(120) % 3
    wrong = np.where(np.arange(120) < 12, (clean + 1) % 3, clean)
    known, batch = (
        write_rows(place / f"{name}.npz", x=clouds(seed), y=labels, clean=None, x_test=None, y_test=None)
        for seed, (name, labels) in enumerate({"known": clean, "batch": wrong}.items())
    )
    trained = Path("run")
    plain = ("--method", "cross_entropy", "--epochs", "30", "--backbone", "mlp", "--held-out", "0")
    assert pencil("train", known, "--out", trained, *plain).code == 0
    ended = pencil("audit", trained, batch)
    table = list(csv.DictReader(io.StringIO(ended.out)))
    doubted = {number for number, row in enumerate(table) if row["decision"] != "keep"}
    assert doubted == set(range(12))
    assert all(table[number]["suggested"] == str(clean[number]) for number in range(12))
    kinds = [row["decision"] for row in table]
    words = (f"{kinds.count('keep')} keep", f"{kinds.count('relabel')} relabel", f"{kinds.count('review')} review")
    assert ended.line == f"120 examples: {', '.join(words)}"
    strict = pencil("audit", trained, batch, "--relabel-confidence", "1", "--json")
    assert all(row["decision"] != "relabel" for row in json.loads(strict.out) if row["confidence"] < 1)


def test_a_label_that_is_no_class_of_the_run_is_suspect(pencil: Command) -> None:
    lines = [f"{n % 7},{n % 5},{'yes' if n % 2 else 'no'}" for n in range(40)]
    Path("t.csv").write_text("\n".join(["a,b,label", *lines]))
    assert pencil("train", "t.csv", "--out", "run", "--held-out", "0", *TRAINED).code == 0
    Path("batch.csv").write_text("a,b,label\n1,1,yes\n2,2,maybe\n3,3,\n")
    ended = pencil("audit", "run", "batch.csv")
    assert ended.code == 0, ended.err
    first, stray, unlabelled = csv.DictReader(io.StringIO(ended.out))
    assert first["given"] == "yes" and float(first["quality"]) > 0
    assert (stray["given"], float(stray["quality"])) == ("maybe", 0) and stray["decision"] != "keep"
    assert (unlabelled["given"], unlabelled["quality"]) == ("", "") and unlabelled["decision"] != "keep"
    assert '"maybe" (1)' in ended.err and "3 examples (1 without a label): " in ended.err


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"y": None}, ("batch.npz", "no labels", "pencil predict")),
        ({"class_names": ["cat", "dog", "hen"]}, ("batch.npz", "cat, dog", "0, 1, 2")),
        ({"x": np.zeros((120, 3), np.float32)}, ("batch.npz", "(3,)", "(8,)")),
    ],
)
def test_bad_data_is_refused(
    pencil: Command, trained: Path, place: Path, changed: dict[str, object], words: tuple[str, ...]
) -> None:
    write_rows(place / "batch.npz", clean=None, x_test=None, y_test=None, **changed)
    before = listing(place)
    ended = pencil("audit", trained, "batch.npz", "--out", "audit.csv")
    assert ended.code == 2 and ended.out == ""
    assert all(word in ended.line for word in words), ended.line
    assert listing(place) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere", "rows.npz"), ("nowhere", "does not exist")),
        (("run", "nowhere.npz"), ("nowhere.npz",)),
        (("run", "rows.npz", "--out", "a.xls"), ("a.xls", ".csv")),
        (("run", "rows.npz", "--keep-quality", "2"), ("keep_quality", "0 to 1")),
        (("run", "rows.npz", "--split", "held-out"), ("held-out",)),
        (("run", "rows.npz", "--set", "label=kind"), ("data.NAME", "data.options.label=kind")),
        (("run", "rows.npz", "--set", "data.labels=other.csv"), ("data.labels", "training", "leave it out")),
    ],
)
def test_bad_options_are_refused(
    pencil: Command, trained: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    ended = pencil("audit", *arguments)
    assert ended.code == 2 and ended.out == ""
    assert all(word in ended.line for word in words), ended.line
