"""Labels from a file replace the source's; a file that does not fit is refused."""

import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from pencil.data import from_arrays
from pencil.data.label_file import relabel
from pencil.errors import PencilError

CLASSES = ("cat", "dog")
WANTED = np.array([1, 0, 1, -1])


@pytest.fixture
def examples():
    return from_arrays(np.zeros((4, 1)), [0, 0, 1, 1], ids=list("abcd"), clean=[0, 1, 1, 1], class_names=CLASSES).train


def given(examples, spec):
    return relabel(examples, str(spec), CLASSES).given


def test_arrays(examples, tmp_path):
    np.savez(tmp_path / "l.npz", aggre_label=WANTED, other=1 - WANTED)
    np.save(tmp_path / "l.npy", WANTED)
    np.testing.assert_array_equal(given(examples, f"{tmp_path}/l.npz:aggre_label"), WANTED)
    np.testing.assert_array_equal(given(examples, tmp_path / "l.npy"), WANTED)


def test_known_true_labels_stay_known(examples, tmp_path):
    np.save(tmp_path / "l.npy", WANTED)
    np.testing.assert_array_equal(relabel(examples, str(tmp_path / "l.npy"), CLASSES).clean, [0, 1, 1, 1])


@pytest.mark.parametrize("values", [WANTED, torch.from_numpy(WANTED)])
def test_a_dictionary_that_torch_saved(examples, tmp_path, values):
    torch.save({"worse_label": values, "clean_label": values}, tmp_path / "human.pt")
    np.testing.assert_array_equal(given(examples, f"{tmp_path}/human.pt:worse_label"), WANTED)


def test_a_torch_file_that_carries_code_is_refused(examples, tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "written"), "w"))

    torch.save({"label": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(PencilError, match=r"evil\.pt cannot be read as labels"):
        given(examples, f"{tmp_path}/evil.pt:label")
    assert not (tmp_path / "written").exists()


@pytest.mark.parametrize(
    "text",
    [
        "1\n0\n1\n-1\n",
        "d,\nc,dog\nb,cat\na,dog\n",
        "id,label\nd,-1\nc,1\nb,0\na,1\nz,1\n",
        "label\ndog\ncat\ndog\n-1\n",
    ],
)
def test_lines(examples, tmp_path, text):
    (tmp_path / "l.csv").write_text(text.replace("\ndog\n-1", '\ndog\n""'))
    np.testing.assert_array_equal(given(examples, tmp_path / "l.csv"), WANTED)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("1\n0\n1\n\n", [1, 0, 1, -1]),
        ("label\n\ncat\n\ndog\n\n\n", [-1, 0, -1, 1]),
        ("\n1\n0\n1", [-1, 1, 0, 1]),
        ("1\n0\n\n1\n\n0\n", [1, 0, 1, 0]),
        ("1\n0\n1\n0\n\n\n", [1, 0, 1, 0]),
    ],
)
def test_an_empty_line_is_no_label_where_each_example_has_a_line(examples, tmp_path, content, wanted):
    (tmp_path / "l.txt").write_text(content)
    np.testing.assert_array_equal(given(examples, tmp_path / "l.txt"), wanted)


def test_the_labels_of_an_earlier_run(examples, tmp_path):
    table = {"id": ["d", "c", "b", "a"], "given": [0, 0, 0, 0], "corrected": [None, 1, 0, 1]}
    pa.parquet.write_table(pa.table(table), tmp_path / "labels.parquet")
    np.testing.assert_array_equal(given(examples, f"{tmp_path}/labels.parquet:corrected"), WANTED)


def test_soft_labels_from_a_file(examples, tmp_path):
    np.save(tmp_path / "l.npy", np.array([[0.3, 0.7]] * 4))
    np.testing.assert_allclose(relabel(examples, str(tmp_path / "l.npy"), CLASSES).distribution[0], [0.3, 0.7])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\n0\n1\n", "has 3 labels for 4 training examples"),
        ("1\n0\n1\n2\n", "label in row 4 is 2; give 0 to 1"),
        ("dog\ncat\ndgo\ncat\n", 'row 3 is "dgo", not a class. Did you mean "dog"'),
        ("a,1\nb,0\nc,1\ne,1\n", 'no label for the example "d"'),
        ("a,1\nb,0\na,1\nd,1\n", 'id "a" occurs twice'),
        ("a,1\nb\n", "row 2 has 1 fields, the first line 2"),
        ("", "it is empty"),
        ("²\n0\n1\n1\n", 'row 1 is "²", not a class'),
        ("--1\n0\n1\n1\n", 'row 1 is "--1", not a class'),
        ("99999999999999999999\n0\n1\n1\n", 'row 1 is "99999999999999999999", not a class'),
    ],
)
def test_lines_that_do_not_fit(examples, tmp_path, content, message):
    (tmp_path / "l.txt").write_text(content)
    with pytest.raises(PencilError, match=message) as caught:
        given(examples, tmp_path / "l.txt")
    assert str(tmp_path / "l.txt") in str(caught.value)


@pytest.mark.parametrize(("mark", "called"), [(";", '";"'), ("\t", "tabs")])
@pytest.mark.parametrize("header", ["", "id{}label\n"])
def test_lines_that_are_separated_by_another_mark(examples, tmp_path, mark, called, header):
    lines = "".join(f"{name}{mark}cat\n" for name in "abcd")
    (tmp_path / "l.csv").write_text(header.format(mark) + lines)
    with pytest.raises(PencilError, match=f"l.csv: it seems to be separated by {called}; separate it by commas"):
        given(examples, tmp_path / "l.csv")


def test_a_wrong_key_suggests_the_near_one(examples, tmp_path):
    np.savez(tmp_path / "l.npz", aggre_label=WANTED, clean_label=WANTED)
    with pytest.raises(PencilError, match=r'no labels called "agre_label". Did you mean "aggre_label"'):
        given(examples, f"{tmp_path}/l.npz:agre_label")
    with pytest.raises(PencilError, match=r"holds several; name one"):
        given(examples, tmp_path / "l.npz")


def test_files_that_are_missing_unknown_or_damaged(examples, tmp_path):
    with pytest.raises(PencilError, match=r"does not exist"):
        given(examples, tmp_path / "nowhere.npy")
    for name in ("l.npy", "l.npz", "l.pt", "l.parquet"):
        (tmp_path / name).write_bytes(b"damaged")
        with pytest.raises(PencilError, match=r"cannot be read"):
            given(examples, tmp_path / name)
    (tmp_path / "l.doc").write_text("")
    with pytest.raises(PencilError, match=r"no kind of label file"):
        given(examples, tmp_path / "l.doc")


def test_a_torch_file_written_with_an_older_numpy(examples, tmp_path):
    torch.save({"noisy_label": WANTED}, tmp_path / "new.pt", pickle_protocol=2)
    with zipfile.ZipFile(tmp_path / "new.pt") as new, zipfile.ZipFile(tmp_path / "old.pt", "w") as old:
        for name in new.namelist():
            old.writestr(name, new.read(name).replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))
    np.testing.assert_array_equal(given(examples, f"{tmp_path}/old.pt:noisy_label"), WANTED)


def test_a_header_of_other_names(examples, tmp_path):
    (tmp_path / "l.csv").write_text("filename,label\nd,\nc,dog\nb,cat\na,dog\n")
    np.testing.assert_array_equal(given(examples, tmp_path / "l.csv"), WANTED)


@pytest.mark.parametrize(("classes", "wanted"), [(("0", "1"), [1, 0, -1, 1]), (("-1", "0", "1"), [2, 1, 0, 2])])
def test_minus_one_is_no_label_unless_a_class_is_called_so(examples, tmp_path, classes, wanted):
    (tmp_path / "l.txt").write_text("1\n0\n-1\n1\n")
    assert relabel(examples, str(tmp_path / "l.txt"), classes).given.tolist() == wanted


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_numbers_are_the_classes_that_are_called_so(examples, tmp_path, suffix):
    path = tmp_path / f"l.{suffix}"
    if suffix == "csv":
        path.write_text("label\n1\n2\n2\n-1\n")
    elif suffix == "npy":
        np.save(path, np.array([1.0, 2.0, 2.0, -1.0]))
    else:
        pa.parquet.write_table(pa.table({"label": pa.array([1, 2, 2, None])}), path)
    assert relabel(examples, str(path), ("1", "2", "3")).given.tolist() == [0, 1, 1, -1]
    assert relabel(examples, str(path), ("-1", "1", "2")).given.tolist()[:3] == [1, 2, 2]
    assert relabel(examples, str(path), ("a", "b", "c")).given.tolist() == [1, 2, 2, -1]
    with pytest.raises(PencilError, match=r"the label in row 1 is \"?1\"?[;,].* 2, 3\."):
        relabel(examples, str(path), ("2", "3"))


@pytest.mark.parametrize("key", ["", ":wrose"])
def test_another_column_is_not_read_for_one_that_is_not_there(examples, tmp_path, key):
    (tmp_path / "l.csv").write_text("id,aggre,worse\nd,0,\nc,0,1\nb,0,0\na,0,1\n")
    with pytest.raises(
        PencilError, match=r'no labels called "wrose".*"worse"' if key else r"several; name one as FILE"
    ):
        given(examples, f"{tmp_path}/l.csv{key}")
    np.testing.assert_array_equal(given(examples, f"{tmp_path}/l.csv:worse"), WANTED)


def test_a_class_may_be_called_id(examples, tmp_path):
    for text in ("id\nen\nid\n-1\n", "a,id\nb,en\nc,id\nd,\n"):
        (tmp_path / "l.csv").write_text(text)
        assert relabel(examples, str(tmp_path / "l.csv"), ("en", "id")).given.tolist() == WANTED.tolist()


def test_a_table_of_final_labels_asks_which_column_is_meant(examples, tmp_path):
    lines = ["index,id,final,final_name", "0,d,,", "1,c,1,dog", "2,b,0,cat", "3,a,1,dog"]
    (tmp_path / "l.csv").write_text("\n".join(lines))
    with pytest.raises(PencilError, match=r"it holds several; name one as FILE:key. Known: final, final_name, index"):
        given(examples, tmp_path / "l.csv")
    for column in ("final", "final_name"):
        np.testing.assert_array_equal(given(examples, f"{tmp_path}/l.csv:{column}"), WANTED)


@pytest.mark.parametrize("column", ["final", "final_name"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_final_labels_are_known_by_name_where_classes_are_numbers(examples, tmp_path, suffix, column):
    table = {"id": list("dcba"), "final": ["", "2", "1", "2"], "final_name": ["", "3", "2", "3"]}
    path = tmp_path / f"l.{suffix}"
    if suffix == "parquet":
        numbers = pa.array([None, 2, 1, 2])
        pa.parquet.write_table(pa.table(table | {"final": numbers}), path)
    else:
        path.write_text("\n".join(map(",".join, [table, *zip(*table.values(), strict=True)])))
    assert relabel(examples, f"{path}:{column}", ("1", "2", "3")).given.tolist() == [2, 1, 2, -1]


@pytest.mark.parametrize("suffix", ["csv", "npy"])
def test_numbers_are_compared_as_numbers_with_classes_of_leading_zeros(examples, tmp_path, suffix):
    path = tmp_path / f"l.{suffix}"
    if suffix == "csv":
        path.write_text("id,label\nd,\nc,2\nb,1\na,2\n")
    else:
        np.save(path, np.array([2, 1, 2, -1]))
    assert relabel(examples, str(path), ("01", "02", "03")).given.tolist() == [1, 0, 1, -1]
    with pytest.raises(PencilError, match=r"label in row 2 is 1; the classes are 02, 03\."):
        relabel(examples, str(path), ("02", "03"))


def test_large_numbers_stay_apart(examples, tmp_path):
    np.save(tmp_path / "l.npy", 10**17 + WANTED)
    classes = tuple(str(10**17 + number) for number in (-1, 0, 1))
    assert relabel(examples, str(tmp_path / "l.npy"), classes).given.tolist() == [2, 1, 2, 0]


@pytest.mark.parametrize("classes", [("cat", "dog"), ("0", "1")])
def test_whole_numbers_as_pandas_writes_them_beside_empty_cells(examples, tmp_path, classes):
    (tmp_path / "l.csv").write_text("id,label\nd,\nc,1.0\nb,0.0\na,1.0\n")
    assert relabel(examples, str(tmp_path / "l.csv"), classes).given.tolist() == WANTED.tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["ID", "path"])
def test_a_column_that_holds_the_ids_says_whose_each_label_is(examples, tmp_path, suffix, name):
    table = {"size": ["1", "2", "3", "4"], name: ["d", "c", "b", "a"], "label": ["", "dog", "cat", "dog"]}
    path = tmp_path / f"l.{suffix}"
    if suffix == "parquet":
        pa.parquet.write_table(pa.table({"pixels": [b"\xff"] * 4, **table}), path)
    else:
        path.write_text("\n".join(map(",".join, [table, *zip(*table.values(), strict=True)])))
    np.testing.assert_array_equal(given(examples, path), WANTED)


@pytest.mark.parametrize("kind", [np.bool_, np.uint16])
def test_arrays_of_other_kinds_that_torch_saved(examples, tmp_path, kind):
    torch.save({"label": np.array([1, 0, 1, 0], dtype=kind)}, tmp_path / "l.pt")
    np.testing.assert_array_equal(given(examples, tmp_path / "l.pt"), [1, 0, 1, 0])


def test_of_three_columns_none_is_taken_unasked(examples, tmp_path):
    (tmp_path / "l.csv").write_text("filename,fold,category\nd,1,\nc,0,dog\nb,0,cat\na,1,dog\n")
    with pytest.raises(PencilError, match=r"it holds several; name one as FILE:key. Known: category, filename, fold"):
        given(examples, tmp_path / "l.csv")
    np.testing.assert_array_equal(given(examples, f"{tmp_path}/l.csv:category"), WANTED)
