"""A result predicts by itself, and a finished run is opened again."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import TensorDataset

import pencil
from pencil.audit import audit_run
from pencil.errors import PencilError
from pencil.run import predict_run

EPOCHS = (6, 2, 2)


def rows() -> tuple[Any, Any]:
    x, y = load_digits(return_X_y=True)
    return x.astype(np.float32), np.array([f"digit {n}" for n in y])


def pictures() -> tuple[Any, Any]:
    x, y = load_digits(return_X_y=True)
    return (x.reshape(-1, 8, 8) * 15).astype(np.uint8), y + 10


@pytest.mark.parametrize("made", [rows, pictures])
def test_new_examples_are_named_in_the_terms_of_the_labels(made: Any, quick: dict[str, Any], tmp_path: Path) -> None:
    x, y = made()
    result = pencil.fit(x[:1500], y[:1500], settings=quick, epochs=EPOCHS, out=tmp_path / "run")
    found = result.predict(x[1500:])
    assert found.dtype == y.dtype
    assert (found == y[1500:]).mean() > 0.7
    shares = result.predict_proba(x[1500:])
    assert shares.shape == (297, 10) and shares.sum(1) == pytest.approx(1)
    assert np.array_equal(np.asarray(result.class_names)[shares.argmax(1)], found.astype(str))
    # A tensor, examples with labels and a torch dataset are the same examples.
    data = TensorDataset(torch.from_numpy(x[1500:]), torch.zeros(297, dtype=torch.int64))
    for same in (torch.from_numpy(x[1500:]), (x[1500:], y[1500:]), x[1500:].tolist(), data):
        assert np.array_equal(result.predict_proba(same), shares)
    assert np.array_equal(predict_run(tmp_path / "run", x[1500:]).probabilities, shares)
    # One example alone is read as all of them are.
    assert result.predict(x[1500:1501])[0] == found[0]


def test_a_result_stands_for_its_run(quick: dict[str, Any]) -> None:
    x, y = rows()
    result = pencil.fit(x[:600], y[:600], settings=quick, epochs=np.array(3))
    assert len(result.history) == 3
    assert np.array_equal(pencil.load(result).predict(x), result.predict(x))
    assert np.array_equal(predict_run(result, x).probabilities, result.predict_proba(x))
    child = pencil.fit(x[:600], y[:600], epochs=2, start_from=result)
    assert {record["phase"] for record in child.history} == {"labels", "tuning"}
    with pytest.raises(PencilError, match="already holds a run"):
        pencil.fit(x[:600], y[:600], settings=quick, out=result)


def test_a_run_is_opened_again(quick: dict[str, Any], tmp_path: Path) -> None:
    x, y = rows()
    result = pencil.fit(x[:600], y[:600], settings=quick, epochs=(2, 1, 1), out=tmp_path / "run")
    again = pencil.load(tmp_path / "run")
    assert np.array_equal(again.predict(x), result.predict(x))
    assert np.array_equal(again.corrected_labels, result.corrected_labels)
    assert again.summary == result.summary
    assert not again.model.training


def test_classes_of_an_opened_run_are_numbers_where_their_names_are(quick: dict[str, Any], tmp_path: Path) -> None:
    x, y = pictures()
    pencil.fit(x[:300], y[:300], settings=quick, epochs=(1, 1, 1), out=tmp_path / "run")
    assert set(pencil.load(tmp_path / "run").predict(x).tolist()) <= set(range(10, 20))


def test_a_network_of_ones_own_is_given_again(quick: dict[str, Any], tmp_path: Path) -> None:
    x, y = rows()
    network = nn.Linear(64, 10)
    settings = {**quick, "backbone_options": {}}
    result = pencil.fit(
        x[:300], y[:300], settings={**settings, "backbone": network}, epochs=(1, 1, 1), out=tmp_path / "r"
    )
    with pytest.raises(PencilError, match="was given in Python; give it there again, by backbone"):
        pencil.load(tmp_path / "r")
    assert np.array_equal(pencil.load(tmp_path / "r", backbone=nn.Linear(64, 10)).predict(x), result.predict(x))


def test_a_run_in_64_bits_predicts_in_them(quick: dict[str, Any]) -> None:
    x, y = rows()
    settings = {**quick, "hardware": {"device": "cpu", "threads": 1, "precision": "64-true"}}
    result = pencil.fit(x[:300], y[:300], settings=settings, epochs=(1, 1, 1))
    assert result.predict_proba(x).dtype == np.float64


def frame(count: int = 300) -> Any:
    rng = np.random.default_rng(0)
    kind = np.arange(count) % 3
    return pd.DataFrame(
        {
            "size": kind + 0.1 * rng.normal(size=count),
            "colour": np.array(["red", "blue", "green"])[kind],
            "kind": np.array(["rose", "iris", "lily"])[kind],
        }
    )


@pytest.mark.parametrize("way", ["option", "name", "beside"])
def test_a_data_frame_is_predicted_by_its_columns(way: str, quick: dict[str, Any], tmp_path: Path) -> None:
    table, out = frame(), tmp_path / "run"
    if way == "beside":
        result = pencil.fit(table[["size", "colour"]], table["kind"], settings=quick, epochs=EPOCHS, out=out)
    elif way == "name":
        result = pencil.fit(table, "kind", settings=quick, epochs=EPOCHS, out=out)
    else:
        settings = {**quick, "data": {"options": {"label": "kind"}}}
        result = pencil.fit(table, settings=settings, epochs=EPOCHS, out=out)
    found = result.predict(table)
    assert (found == table["kind"]).mean() > 0.95
    # Columns are found by their names, whatever else there is, and few rows need not have all the texts.
    few = table.loc[table["colour"] == "blue", ["colour", "size"]].assign(extra=1)
    assert np.array_equal(result.predict(few), found[table["colour"] == "blue"])
    few.to_csv(tmp_path / "few.csv", index=False)
    assert np.array_equal(pencil.load(tmp_path / "run").predict(tmp_path / "few.csv"), result.predict(few))
    assert set(result.corrected_labels) <= {"rose", "iris", "lily"}
    with pytest.warns(UserWarning, match='"pink" was never seen in training') as caught:
        result.predict(few.assign(colour="pink"))
    assert caught[0].filename == __file__
    with pytest.raises(PencilError, match='no column "size", which the run was trained on'):
        result.predict(few.drop(columns="size"))
    with pytest.raises(PencilError, match='arrays has no names of columns, and the run was trained on "size"'):
        result.predict(np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("new", "line"),
    [
        (np.zeros((2, 63)), r"arrays has examples of shape \(63,\), the run was trained on \(64,\)"),
        (np.zeros((2, 8, 8)), "arrays has images, the run was trained on rows"),
        (np.zeros(64), "inputs are float64 of shape"),
        ("no/such.csv", "no/such.csv does not exist"),
        (3, "no data can be read from an object of type int; give a path, an array"),
    ],
)
def test_what_cannot_be_predicted_is_named(new: Any, line: str, quick: dict[str, Any]) -> None:
    x, y = rows()
    result = pencil.fit(x[:200], y[:200], settings=quick, epochs=(1, 1, 1))
    with pytest.raises(PencilError, match=line) as caught:
        result.predict(new)
    assert "\n" not in str(caught.value)


def test_labels_given_in_python_are_audited(quick: dict[str, Any], tmp_path: Path) -> None:
    x, y = rows()
    pencil.fit(x[:1200], y[:1200], settings=quick, epochs=EPOCHS, out=tmp_path / "run")
    shown = y[1200:].copy()
    shown[:5] = np.where(shown[:5] == "digit 0", "digit 1", "digit 0")
    found = audit_run(tmp_path / "run", (x[1200:], shown))
    assert found.scores.quality[:5].mean() < 0.5 < found.scores.quality[5:].mean()
    with pytest.raises(PencilError, match=r"^what is given has no labels to audit; .*pencil\.load\('.*'\)\.predict$"):
        audit_run(tmp_path / "run", x[1200:])
    with pytest.raises(PencilError, match=r"^no label of what is given \(hen\) is a class of the run"):
        audit_run(tmp_path / "run", (x[1200:], ["hen"] * len(shown)))


def test_settings_say_how_data_that_is_given_is_read(quick: dict[str, Any], tmp_path: Path) -> None:
    random, y = np.random.default_rng(0), np.arange(90) % 3
    frame = pd.DataFrame(random.normal(size=(90, 4)) + 3 * np.eye(4)[y], columns=list("abcd"))
    pencil.fit(frame, y, settings=quick, epochs=EPOCHS, out=tmp_path / "run")
    beside = frame.assign(kind=y)
    with pytest.raises(PencilError, match="no labels to audit"):
        audit_run(tmp_path / "run", beside)
    audited = audit_run(tmp_path / "run", beside, data_settings={"options": {"label": "kind"}})
    assert audited.predictions.given.tolist() == y.tolist()
    for wrong, line in {"noise": "data.noise is for training", "colour": 'no setting "data.colour"'}.items():
        with pytest.raises(PencilError, match=line):
            audit_run(tmp_path / "run", beside, data_settings={wrong: "symmetric:0.1"})
