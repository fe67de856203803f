"""Data given in Python: data frames are read as files of the same columns are."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pencil.config import DataSettings
from pencil.data import Request, from_frame, from_given, read
from pencil.errors import PencilError


def flowers() -> Any:
    return pd.DataFrame(
        {
            "size": [1.5, 2.0, np.nan, 4.0, 5.5, 6.0],
            "colour": pd.Categorical(["red", "blue", "red", "blue", "red", "blue"]),
            "wild": [True, False, True, True, False, False],
            "kind": ["rose", "iris", "rose", "iris", "rose", None],
        },
        index=[5, 3, 9, 1, 0, 2],
    )


def by_kind(**options: Any) -> Request:
    return Request(options={"label": "kind", **options})


def same(one: Any, other: Any) -> bool:
    rows = [np.asarray(each.train.inputs.read(np.arange(len(each.train)))) for each in (one, other)]
    return bool(
        np.array_equal(*rows, equal_nan=True)
        and one.class_names == other.class_names
        and np.array_equal(one.train.given, other.train.given)
        and np.array_equal(one.train.ids, other.train.ids)
        and one.facts == other.facts
    )


@pytest.mark.parametrize("made", [flowers, lambda: pa.Table.from_pandas(flowers(), preserve_index=False)])
def test_a_frame_is_read_as_a_file_of_its_columns_is(made: Any, tmp_path: Path) -> None:
    flowers().to_parquet(tmp_path / "flowers.parquet", index=False)
    file = read(DataSettings(source=str(tmp_path / "flowers.parquet"), options={"label": "kind"}))
    found = from_given(made(), by_kind())
    assert same(found, file)
    assert found.facts["features"] == ["size", "colour=blue", "colour=red", "wild"], "the index is no column"
    assert found.train.given.tolist() == [1, 0, 1, 0, 1, -1]


@pytest.mark.parametrize(
    "y", [flowers()["kind"], flowers()["kind"].rename(None), flowers()["kind"].tolist(), flowers()["kind"].to_numpy()]
)
def test_labels_beside_a_frame_are_its_labels(y: Any) -> None:
    frame = flowers().drop(columns="kind")
    assert same(from_given((frame, y)), from_frame(frame, y))
    found, alone = from_frame(frame, y), from_given(flowers(), by_kind())
    assert found.facts["features"] == alone.facts["features"]
    assert found.class_names == alone.class_names
    assert found.train.given.tolist() == alone.train.given.tolist()
    assert found.terms is not None and found.terms.tolist() == ["iris", "rose"]


def test_labels_beside_a_frame_may_be_the_name_of_its_column() -> None:
    assert same(from_given((flowers(), "kind")), from_given(flowers(), by_kind()))
    with pytest.raises(PencilError, match=r"leave data\.options\.label out"):
        from_given((flowers(), "kind"), by_kind())
    with pytest.raises(PencilError, match=r'there is no column "knd".*kind'):
        from_given((flowers(), "knd"))


def test_a_frame_without_a_label_says_how_python_names_it() -> None:
    with pytest.raises(PencilError, match=r'name the one of the labels .* by pencil\.fit\(frame, "NAME"\)\.$'):
        from_given(flowers())


def test_labels_taken_from_a_frame_are_not_learned_from() -> None:
    frame = flowers()
    found = from_frame(frame, frame["kind"])
    assert not any(name.startswith("kind") for name in found.facts["features"])


def test_minus_one_beside_a_frame_is_no_label_and_numbers_stay_numbers() -> None:
    found = from_frame(flowers().drop(columns="kind"), np.array([7, -1, 3, 7, 3, 7]))
    assert found.train.given.tolist() == [1, -1, 0, 1, 0, 1]
    assert found.terms is not None and found.terms.tolist() == [3, 7] and found.terms.dtype == np.int64


@pytest.mark.parametrize("values", [[True, False], [True, None, False], ["1", "0"], ["True", "False"], [1, 0]])
def test_classes_are_called_what_the_column_of_labels_calls_them(values: list[Any]) -> None:
    given = values * 2
    columns = {"a": list(range(len(given))), "kind": given}
    for frame in (pd.DataFrame(columns), pa.table(columns)):
        found = from_frame(frame, "kind")
        assert found.terms is not None
        again = [None if number < 0 else found.terms[number].item() for number in found.train.given]
        assert again == given, "whatever compares them finds them the same"


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (pd.cut([1.0, 5.0, 9.0, np.nan], [0.5, 4, 8, 12]), ("(0.5, 4.0]", "(4.0, 8.0]", "(8.0, 12.0]")),
        (pd.arrays.IntervalArray.from_tuples([(1, 2), (2, 3), (2, 3), None]), ("(1.0, 2.0]", "(2.0, 3.0]")),
        (pd.PeriodIndex(["2024", "2025", "2025", None], freq="Y"), ("2024", "2025")),
    ],
)
def test_intervals_and_periods_are_called_what_pandas_calls_them(values: Any, names: tuple[str, ...]) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "kind": values})
    kept = frame.copy()
    for found in (from_frame(frame, "kind"), from_frame(frame[["a"]], values)):
        assert found.class_names == names
        assert found.train.given.tolist()[::3] == [0, -1]
    assert from_frame(frame, [0, 1, 0, 1]).facts["features"] == ["a", "kind=", *(f"kind={name}" for name in names)]
    pd.testing.assert_frame_equal(frame, kept)


def test_a_dataset_that_is_ready_has_no_options() -> None:
    with pytest.raises(PencilError, match=r'a pencil\.data\.Dataset has no option "label"'):
        from_given(from_given(flowers(), by_kind()), by_kind())


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ((flowers().assign(label=1), [0, 1, 0, 1, 0, 1]), 'has a column "label" beside the labels that are given'),
        ((flowers(), [0, 1, 0]), "there are 3 labels for 6 examples"),
        ((flowers(), np.ones((6, 2)) / 2), "make columns of the frame"),
        (flowers().assign(when=pd.Timestamp("2026-01-01")), '"when" is timestamp.*"ignore": "when"'),
        (
            flowers().assign(mixed=[1, "a", 2, "b", 3, "c"]),
            r"cannot be read \(Could not convert 'a' .*column mixed .*type object\); .*one kind",
        ),
        (
            pd.concat([flowers(), flowers()[["size"]]], axis=1),
            'the data frame has two columns called "size"; rename one',
        ),
        (flowers().rename(columns={"kind": "sort"}), 'no column "kind"'),
        (flowers().iloc[:0], "the data frame has no rows"),
        (flowers()["size"], "no data can be read from an object of type Series; give a path, .x, y. arrays"),
        ([[1.0, 2.0]], "no data can be read from an object of type list; give a path, .x, y. arrays"),
    ],
)
def test_what_is_wrong_with_a_frame_is_named(source: Any, line: str) -> None:
    request = Request() if isinstance(source, tuple) else by_kind()
    with pytest.raises(PencilError, match=line) as caught:
        from_given(source, request)
    assert "\n" not in str(caught.value)


def test_an_option_that_a_frame_has_not_is_refused() -> None:
    with pytest.raises(PencilError, match='a data frame has no option "raw"'):
        from_given(flowers(), by_kind(raw=True))
