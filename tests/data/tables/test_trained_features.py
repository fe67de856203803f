"""Data for a finished run is read by what the run was trained on, whatever else the file holds."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from pencil.config import DataSettings
from pencil.data import read
from pencil.errors import PencilError


def features(path, titles):
    dataset = read(DataSettings(source=str(path)), labels_needed=False, trained_features=titles)
    assert dataset.facts["features"] == list(titles)
    return dataset.train.inputs.array.tolist()


@pytest.fixture
def table(tmp_path):
    def write(content):
        path = tmp_path / ("t.csv" if isinstance(content, str) else "t.parquet")
        if isinstance(content, str):
            path.write_text(content)
        else:
            pa.parquet.write_table(pa.table(content), path)
        return path

    return write


@pytest.mark.parametrize(
    "content", ["a,k\n5,1\n6,2\n", {"a": [5, 6], "k": [1, 2]}, {"a": ["5", "6"], "k": ["1", "2"]}], ids=str
)
def test_texts_that_look_like_numbers(table, content):
    assert features(table(content), ["k=1", "k=2", "k=A", "a"]) == [[1, 0, 0, 5], [0, 1, 0, 6]]


def test_texts_that_look_like_truth_or_dates(table):
    path = table("k,day,old\ntrue,2020-01-01,true\nfalse,,false\n")
    titles = ["k=false", "k=true", "k=yes", "day=", "day=2020-01-01", "day=never", "old"]
    assert features(path, titles) == [[0, 1, 0, 0, 1, 0, 1], [1, 0, 0, 1, 0, 0, 0]]


def test_texts_are_read_as_they_are_spelled(table):
    assert features(table("k\n1.0\n01\n1\nNA\n"), ["k=1", "k=1.0", "k=NA"]) == [
        [0, 1, 0],
        [0, 0, 0],
        [1, 0, 0],
        [0, 0, 1],
    ]


def test_names_with_signs_in_them(table):
    path = table("a=b,k=x,v[0]\n1,y,2\n3,z=z,4\n")
    assert features(path, ["a=b", "v[0]", "k=x=y", "k=x=z=z"]) == [[1, 2, 1, 0], [3, 4, 0, 1]]


def test_other_columns_are_not_looked_at(table):
    path = table("day,a,empty,twice,twice,image,label\n2020-01-01,1,,1,2,no.png,x\n,2,5,1,2,no.png,\n")
    assert features(path, ["a"]) == [[1], [2]]
    assert features(table({"a": [1, 2], "when": pa.array([0, None], pa.date32())}), ["a"]) == [[1], [2]]


def test_a_column_that_the_run_learned_from_is_no_label(table):
    path = table("y,label\n1,p\n2,q\n")
    dataset = read(DataSettings(source=str(path)), labels_needed=False, trained_features=["y"])
    assert dataset.class_names == ("p", "q")


def test_lists(table):
    path = table({"v": [[1.0, 2.0], [3.0, 4.0]], "a": [5, 6]})
    assert features(path, ["a", "v[0]", "v[1]"]) == [[5, 1, 2], [6, 3, 4]]


def test_empty_cells_of_numbers(table):
    assert np.isnan(features(table("a\n1\nNA\n"), ["a"])).tolist() == [[False], [True]]


@pytest.mark.parametrize(
    ("content", "title", "message"),
    [
        ("a\n1\nfew\n", "a", r't\.csv: the column "a" holds "few", the run was trained on numbers'),
        ("a\n2020-01-01\n2020-01-02\n", "a", 'holds "2020-01-01", the run was trained on numbers'),
        ({"a": ["1", "few"]}, "a", 'holds "few", the run was trained on numbers'),
        ("a\n1\ninf\n", "a", "row 2, column a is inf"),
        ({"v": [[1.0], [np.inf]]}, "v[0]", r"row 2, column v\[0\] is inf"),
        ("a,a\n1,1\n", "a", 'two columns called "a"'),
        ("a\n1\n", "b=x", 'it has no column "b", which the run was trained on'),
        ("a\n1\n", "v[0]", 'it has no column "v", which the run was trained on'),
        ({"v": [[1.0, 2.0]]}, "v[0]", "has 2 numbers a row, the run was trained on 1"),
        ({"v": [[1.0, 2.0]]}, "v=x", "trained on texts"),
        ({"v": [[1.0, 2.0]]}, "v", "trained on numbers"),
        ({"v": [1.0]}, "v[0]", "trained on lists of numbers"),
    ],
)
def test_what_does_not_fit_is_named(table, content, title, message):
    with pytest.raises(PencilError, match=message) as caught:
        features(table(content), [title])
    assert "\n" not in str(caught.value)
