"""Every usual form of labels is understood; what cannot be is named by row."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
import torch

from pencil.data.labels import as_names, as_values, class_names_of, encode
from pencil.errors import PencilError


def test_soft_labels_keep_their_distribution():
    soft = np.array([[0.2, 0.8], [0.0, 0.0], [np.nan, np.nan], [1.0, 0.0]])
    found = encode(as_values(soft), ("a", "b"))
    np.testing.assert_array_equal(found.given, [1, -1, -1, 0])
    np.testing.assert_allclose(found.distribution, [[0.2, 0.8], [0, 0], [0, 0], [1, 0]], rtol=1e-6)


def test_whole_numbers_in_a_matrix_are_votes():
    found = encode(as_values(np.array([[1, 3], [0, 0], [2, 2]])), ("a", "b"))
    np.testing.assert_array_equal(found.given, [1, -1, 0])
    np.testing.assert_allclose(found.distribution, [[0.25, 0.75], [0, 0], [0.5, 0.5]])


def test_rows_of_soft_labels_must_sum_to_one():
    with pytest.raises(PencilError, match=r"row 2 are \[0.9, 0.9\]"):
        encode(np.array([[0.5, 0.5], [0.9, 0.9]]), ("a", "b"))


def test_votes_cannot_be_negative():
    with pytest.raises(PencilError, match=r"row 1 .* counts of votes"):
        encode(np.array([[-1, 3]]), ("a", "b"))


def test_several_names_of_an_example_are_refused():
    with pytest.raises(PencilError, match="labels are 2 names for each example; give one for each"):
        encode(as_values([("a", 1), ("b", 2)]), ("0", "1"))


@pytest.mark.parametrize("kind", [int, bool])
def test_examples_of_several_classes_are_refused(kind):
    marks = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]])
    with pytest.raises(PencilError, match=r"row 2 are \[1, 1, 0\], and many others have several classes too"):
        as_values(marks.astype(kind))


@pytest.mark.parametrize("votes", [[[1, 1], [2, 0]], [[1, 0], [0, 1]], [[1, 1], [1, 0], [0, 1], [1, 0]]], ids=str)
def test_votes_may_differ(votes):
    assert as_values(np.array(votes)).tolist() == votes


def test_a_fraction_is_no_label():
    with pytest.raises(PencilError, match=r"row 2 is 1\.5, not a whole number"):
        encode(as_values(np.array([0.0, 1.5])), ("a", "b"))


def test_a_number_beyond_the_classes_is_named():
    with pytest.raises(PencilError, match=r"the label in row 3 is 2; give 0 to 1"):
        encode(as_values(np.array([0, -1, 2])), ("a", "b"))


def test_a_misspelt_name_is_named():
    with pytest.raises(PencilError, match=r'row 1 is "dgo", not a class. Did you mean "dog"'):
        encode(as_values(["dgo"]), ("cat", "dog"))


def test_numbers_with_gaps_are_classes_by_name():
    values = as_values(np.array([7, 2, 30, -1]))
    names = class_names_of(values)
    assert names == ("2", "7", "30")
    np.testing.assert_array_equal(encode(values, names, by_name=True).given, [1, 0, 2, -1])


def test_floats_without_fraction_count_as_numbers():
    np.testing.assert_array_equal(encode(as_values(np.array([1.0, np.nan])), ("a", "b")).given, [1, -1])


def test_columns_must_match_the_classes():
    with pytest.raises(PencilError, match=r"3 columns for 2 classes"):
        encode(np.zeros((2, 3)), ("a", "b"))


def test_other_kinds_of_values():
    dates = as_values([datetime.date(2020, 1, 2), None])
    assert class_names_of(dates) == ("2020-01-02",)
    np.testing.assert_array_equal(as_values([True, False, None]), [1, 0, -1])
    np.testing.assert_array_equal(as_values([[0.5, 0.5], [1, 0]]), [[0.5, 0.5], [1, 0]])


@pytest.mark.parametrize(("labels", "message"), [([0, -3], "row 2 is -3"), ([0, np.inf], "row 2 is inf")])
def test_numbers_that_are_no_classes(labels, message):
    with pytest.raises(PencilError, match=message):
        class_names_of(as_values(np.array(labels)))


def test_labels_of_unequal_length():
    with pytest.raises(PencilError, match="labels cannot be understood"):
        as_values([[0.5, 0.5], [1.0]])


@pytest.mark.parametrize("labels", [{0: "a", 1: "b"}, {"a", "b"}, (name for name in "ab")])
def test_labels_must_have_an_order_that_stays(labels):
    with pytest.raises(PencilError, match=f"labels are a {type(labels).__name__}; give a list or an array"):
        as_values(labels)
    assert as_values({0: "a", 1: "b"}.values()).tolist() == ["a", "b"]


def test_texts_that_are_almost_numbers_are_names():
    assert class_names_of(as_values(["²", "--1", "10", "9", "07", "7", None])) == ("07", "7", "9", "10", "--1", "²")


def test_the_labels_of_a_table_are_names():
    assert as_names([-1, None, 2**62 + 1]).tolist() == ["-1", None, str(2**62 + 1)]
    assert as_names([-1.0, float("nan")]).tolist() == ["-1", None]
    assert as_names(["-1", "", "x"]).tolist() == ["-1", None, "x"]
    assert as_names([[0.5, 0.5], [1.0, 0.0]]).shape == (2, 2)
    with pytest.raises(PencilError, match=r"row 3 is 0\.5"):
        as_names([1.0, None, 0.5])


def test_soft_labels_may_be_tensors_of_16_bits():
    soft = torch.tensor([[0.25, 0.75], [1.0, 0.0]], dtype=torch.bfloat16)
    assert as_values(soft).tolist() == [[0.25, 0.75], [1.0, 0.0]]


def test_large_numbers_are_not_merged_beside_missing_ones():
    values = as_values(np.array([2**53, 2**53 + 1, None], dtype=object))
    assert values.tolist() == [2**53, 2**53 + 1, -1]


@pytest.mark.parametrize("column", [["a", "b", None], [1, 2, 1]])
def test_a_frame_of_one_column_is_its_values(column):
    pandas = pytest.importorskip("pandas")
    assert as_values(pandas.DataFrame({"l": column})).tolist() == column


def test_a_frame_of_names_is_no_list_of_its_columns():
    pandas = pytest.importorskip("pandas")
    assert as_values(pandas.DataFrame({"l": ["a", "b"], "m": ["b", "a"]})).tolist() == [["a", "b"], ["b", "a"]]


@pytest.mark.parametrize("values", [["a", None, "b"], [2**53 + 1, None, 2**53], [[0.5, 0.5], [1.0, 0.0]]])
def test_arrays_of_arrow_are_what_they_hold(values):
    expected = [-1 if value is None and isinstance(values[0], int) else value for value in values]
    for array in (pa.array(values), pa.chunked_array([values])):
        assert as_values(array).tolist() == expected
    assert as_values(pa.table({"l": ["a", None]})).tolist() == ["a", None]


def test_names_in_bytes_are_texts():
    found = as_values(np.array([b"cat", "é".encode(), b""]))
    assert found.tolist() == ["cat", "é", None] and class_names_of(found) == ("cat", "é")
    with pytest.raises(PencilError, match="not UTF-8"):
        as_values([b"\xff", b"dog"])


def test_numbers_too_large_to_count_are_names():
    values = as_values(np.array([2**64 - 1, 7, 2**63 + 5], dtype=np.uint64))
    names = class_names_of(values)
    assert names == ("7", str(2**63 + 5), str(2**64 - 1))
    np.testing.assert_array_equal(encode(values, names, by_name=True).given, [2, 0, 1])


@pytest.mark.parametrize("none", [None, np.nan, -1])
def test_numbers_too_large_to_count_are_names_beside_missing_ones(none):
    labels = np.array([2**63, none, 7], dtype=object)
    assert as_values(labels).tolist() == [str(2**63), None, "7"]
    assert as_names(labels).tolist() == [str(2**63), None, "7"]


@pytest.mark.parametrize("label", [{"left": 0.5, "right": 1.5}, {"cat", "dog"}])
def test_a_label_of_several_parts_is_refused(label):
    with pytest.raises(PencilError, match=f"row 2 is a {type(label).__name__}; give one name or number"):
        as_values([None, label])


def test_labels_of_16_bits_are_read_without_a_warning(recwarn):
    assert class_names_of(as_values(np.array([0, 1, np.nan], dtype=np.float16))) == ("0", "1")
    assert not recwarn.list
