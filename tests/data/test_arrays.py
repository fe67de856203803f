"""Arrays in every usual form become the same record, or are refused in one line."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import pencil
from pencil.data import from_arrays, from_torch
from pencil.data.arrays import as_inputs
from pencil.data.transforms.augment import Prepare
from pencil.errors import PencilError

LABELS = [0, 1, 0, 1]


def test_channels_may_come_first_or_last(fakes):
    images = fakes.pixels(4, 8)
    first = from_arrays(images.transpose(0, 3, 1, 2), LABELS)
    last = from_arrays(images, LABELS)
    assert first.preparation.raw_shape == (8, 8, 3)
    np.testing.assert_array_equal(first.train.inputs.array, last.train.inputs.array)


@pytest.mark.parametrize("scale", [1.0, 255.0])
def test_floats_come_back_as_the_pixels_they_were(fakes, scale):
    images = fakes.pixels(4, 8)
    images[0, 0, 0, 0] = 255
    np.testing.assert_array_equal(as_inputs(images.astype(np.float32) / 255 * scale), images)
    np.testing.assert_array_equal(as_inputs(torch.from_numpy(images)), images)


def test_three_dimensions_are_grey_images():
    assert as_inputs(np.zeros((5, 6, 7), np.uint8)).shape == (5, 6, 7, 1)


def test_tensors_of_half_the_bits_are_read():
    rows = torch.arange(6.0).reshape(3, 2).to(torch.bfloat16)
    np.testing.assert_array_equal(as_inputs(rows), np.arange(6).reshape(3, 2))
    dataset = from_torch(torch.utils.data.TensorDataset(rows, torch.tensor([0, 1, 0])))
    np.testing.assert_array_equal(dataset.train.inputs.read(np.arange(3)), np.arange(6).reshape(3, 2))


def test_normalised_images_are_refused():
    with pytest.raises(PencilError, match=r"reach from -2 to 1; give 0 to 255 or 0 to 1"):
        as_inputs(np.linspace(-2, 1, 2 * 4 * 4 * 3).reshape(2, 4, 4, 3))


def test_rows_stay_floats_and_suggest_their_network():
    data = from_arrays(np.arange(12).reshape(4, 3), LABELS)
    assert data.preparation.kind == "rows" and data.preparation.spec.shape == (3,)
    assert data.train.inputs.array.dtype == np.float32 and data.default_backbone == "mlp"


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
def test_a_value_that_is_no_number_is_named(value):
    rows = np.zeros((4, 3))
    rows[2, 1] = value
    remedy = ", too large for 32 bits; divide" if value == 1e300 else "; leave out"
    with pytest.raises(PencilError, match=rf"row 3, column 2 is {value}{remedy}.*NaN there".replace("+", r"\+")):
        from_arrays(rows, LABELS)


def test_values_of_rows_may_be_missing():
    rows = np.arange(12.0).reshape(4, 3)
    rows[2, 1] = -np.float64(np.nan)
    data = from_arrays(rows, LABELS)
    assert np.isnan(data.train.inputs.array).sum() == 1 and np.isnan(data.train.inputs.array[2, 1])
    assert data.facts["missing"] == "one cell of column 2 is empty; the network sees it as the column's mean."
    rows[2, 1] = np.nan
    assert from_arrays(rows, LABELS).train.ids.tolist() == data.train.ids.tolist(), "there is more than one NaN"
    rows[0, 2] = np.nan
    assert from_arrays(rows, LABELS).facts["missing"].startswith("2 cells of 2 columns, column 2 and others are empty")
    assert "missing" not in from_arrays(np.zeros((4, 3)), LABELS).facts


def test_pixels_may_not_be_missing():
    images = np.zeros((4, 8, 8))
    images[1, 2, 3] = np.nan
    with pytest.raises(PencilError, match=r"images hold NaN.*fill these in"):
        from_arrays(images, LABELS)


def test_ids_survive_another_order_and_tell_twins_apart():
    rows = np.array([[1.0], [2.0], [1.0], [3.0]])
    ids = from_arrays(rows, LABELS).train.ids
    turned = from_arrays(rows[::-1], LABELS).train.ids
    assert set(ids) == set(turned) and len(set(ids)) == 4
    assert ids[1] == turned[2] and ids[2] == f"{ids[0]}-2"


def test_names_and_missing_labels():
    data = from_arrays(np.zeros((5, 2)), ["dog", None, "cat", "", float("nan")])
    assert data.class_names == ("cat", "dog")
    np.testing.assert_array_equal(data.train.given, [1, -1, 0, -1, -1])


def test_test_and_clean_labels_share_the_classes():
    data = from_arrays(np.zeros((3, 2)), ["a", "b", "a"], clean=["a", "c", "a"], test=(np.ones((2, 2)), ["d", "a"]))
    assert data.class_names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(data.train.clean, [0, 2, 0])
    np.testing.assert_array_equal(data.test.given, [3, 0])


def test_own_ids_must_differ_and_be_complete():
    with pytest.raises(PencilError, match=r'id "k" occurs 2 times'):
        from_arrays(np.zeros((3, 2)), [0, 1, 0], ids=["k", "l", "k"])
    with pytest.raises(PencilError, match=r"2 ids for 3 examples"):
        from_arrays(np.zeros((3, 2)), [0, 1, 0], ids=["k", "l"])


def test_ids_in_a_tensor_are_its_numbers():
    assert from_arrays(np.zeros((2, 2)), [0, 1], ids=torch.tensor([7, 5])).train.ids.tolist() == ["7", "5"]


@pytest.mark.parametrize("name", ["ids", "texts", "class_names"])
@pytest.mark.parametrize("values", [np.array([["k"], ["l"]]), np.array("kl")])
def test_names_that_are_no_list_are_refused(name, values):
    with pytest.raises(PencilError, match=r"(ids|texts|class names) have shape \(.*\); give a list"):
        from_arrays(np.zeros((2, 2)), [0, 1], **{name: values})


def test_ids_may_come_in_bytes():
    data = from_arrays(np.zeros((2, 2)), [0, 1], ids=np.array([b"k", "ö".encode()]))
    assert data.train.ids.tolist() == ["k", "ö"]
    with pytest.raises(PencilError, match=r"the id b'\\xff' is not UTF-8 text; give ids as texts\."):
        from_arrays(np.zeros((2, 2)), [0, 1], ids=np.array([b"k", b"\xff"]))


def test_labels_must_be_as_many_as_inputs():
    with pytest.raises(PencilError, match=r"2 labels for 3 examples"):
        from_arrays(np.zeros((3, 2)), [0, 1])


def test_sparse_inputs_are_called_so():
    with pytest.raises(PencilError, match=r"inputs are a sparse csr_array; give x\.toarray\(\)"):
        from_arrays(csr_array(np.eye(3)), [0, 1, 0])


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("x", [[[1, 2], [3], [4, 5]], [np.zeros((8, 8)), np.zeros((9, 9))], torch.eye(3).to_sparse()])
def test_inputs_that_make_no_array_are_refused(x, raw):
    with pytest.raises(PencilError, match=r"inputs make no array .*; give as many numbers for each example"):
        from_arrays(x, [0, 1, 0], raw=raw)


def test_numbers_of_several_kinds_in_a_frame_are_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": [0.5, 1.5, 2.5], "colour": ["red", "blue", "red"]})
    encoded = pandas.get_dummies(frame)
    wanted = [[0.5, 0, 1], [1.5, 1, 0], [2.5, 0, 1]]
    assert from_arrays(encoded, list("aba")).train.inputs.array.tolist() == wanted
    nullable = frame[["size"]].astype("Float64")
    assert from_arrays(nullable, list("aba")).train.inputs.array.tolist() == [[0.5], [1.5], [2.5]]
    whole = np.array([[1, 2], [3, 4]], dtype=object)
    assert from_arrays(whole, list("ab"), raw=True).train.inputs.array.dtype.kind == "i"
    for refused in (frame, frame[["size"]].astype(str), np.array([[1.0, None], [2.0, 3.0]], dtype=object)):
        with pytest.raises(PencilError, match=r"inputs are .* give numbers"):
            from_arrays(refused, list("aba")[: len(refused)])


def test_test_inputs_must_have_the_same_shape():
    with pytest.raises(PencilError, match=r"test inputs are"):
        from_arrays(np.zeros((3, 2)), [0, 1, 0], test=(np.zeros((3, 4)), [0, 1, 0]))


@pytest.mark.parametrize(("largest", "told"), [(2.0, 3), (0.01, 4), (1.0, 0), (255.0, 0)])
def test_images_that_lose_most_shades_are_told(largest, told):
    x = np.linspace(0, largest, 128).reshape(2, 8, 8)
    for given in (x, torch.from_numpy(x)):
        line = from_arrays(given, [0, 1]).facts.get("dark", "")
        assert (
            line.startswith(f"the images have numbers up to {largest:g}, of which {told} shades") if told else not line
        )
    whole = (x * 2 / largest).round()
    assert "dark" not in from_arrays(whole, [0, 1]).facts, "nothing is lost"


def test_large_images_are_photographs():
    data = from_arrays(np.zeros((2, 96, 96, 3), np.uint8), [0, 1])
    assert data.facts["photographs"] and data.default_backbone == "" and data.preparation.crop == 84


@pytest.mark.parametrize(("height", "width", "pad"), [(128, 96, 12), (128, 40, 5), (8, 200, 1), (20, 28, 2), (4, 6, 0)])
def test_images_that_are_no_squares_are_seen_whole(height: int, width: int, pad: int) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, height, width, 1), dtype=np.uint8)
    data = from_arrays(images, [0, 1, 0])
    assert data.preparation.pad == pad
    how = replace(data.preparation, mean=(0.0,), std=(1.0,), flip=False)
    raw = torch.from_numpy(images)
    torch.testing.assert_close(Prepare(how, seed=0)(raw), raw.permute(0, 3, 1, 2).float())
    epochs = torch.zeros((), dtype=torch.long)
    assert Prepare(how, seed=0)(raw, torch.arange(3), epochs).shape == (3, 1, height, width)


@pytest.mark.parametrize(
    "marks",
    [
        np.array([True, None, False, None], dtype=object),
        [1.0, np.nan, 0.0, 1.0],
        ["False", "True", "no", ""],
        [0, 1, 2, 3],
        [[True], [False], [True], [False]],
    ],
)
def test_only_marks_that_are_true_or_false_trust_a_label(marks):
    x = np.eye(4, dtype=np.float32)
    labelled = [(row, label) for row, label in zip(torch.from_numpy(x), [0, 1, 0, 1], strict=True)]
    for make in (lambda: from_arrays(x, [0, 1, 0, 1], trusted=marks), lambda: from_torch(labelled, trusted=marks)):
        with pytest.raises(PencilError, match="give True or False for each example"):
            make()
    for good in ([True, False, True, True], [1, 0, 1, 1], torch.tensor([1.0, 0, 1, 1])):
        assert from_arrays(x, [0, 1, 0, 1], trusted=good).train.trusted.tolist() == [True, False, True, True]


def test_digits_that_32_bits_do_not_hold_are_no_features() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    for given in (x, x + 1e5, (x + 1e9).astype(np.float32), x * 1e9):
        assert "blurred" not in from_arrays(given, y).facts
    far = x + np.array([0.0, 1e9, 0.0])
    words = r"column 2 varies by \d\.\d* around \d{9,10}(\.\d+)?, which 32 bits do not tell apart; subtract \d{9}"
    assert re.match(words, from_arrays(far, y).facts["blurred"])
    far[3, 1] = far[:, 0] = np.nan
    assert re.match(words, from_arrays(far, y).facts["blurred"]), "of a column with gaps it counts as well"
    with pytest.raises(PencilError, match=words):
        pencil.fit(far, y, epochs=[1, 1, 1])


def test_masked_values() -> None:
    x, y = np.zeros((6, 2)), np.ma.array([0, 1, 2, 0, 1, 2], mask=[True, False, False, False, False, True])
    assert from_arrays(x, y).train.given.tolist() == [-1, 1, 2, 0, 1, -1]
    names = np.ma.array(["a", "b", "a"], mask=[False, False, True])
    assert from_arrays(x[:3], names).train.given.tolist() == [0, 1, -1]
    assert from_arrays(np.ma.array(x), np.arange(6)).train.given.tolist() == list(range(6))
    with pytest.raises(PencilError, match="masked"):
        from_arrays(np.ma.masked_equal(np.eye(6), 1), np.arange(6))


def test_names_that_come_with_the_classes_are_the_terms() -> None:
    given = ["g", "r", "b"]
    assert from_arrays(np.zeros((3, 2)), given, class_names=["r", "g", "b"]).terms.tolist() == ["r", "g", "b"]
    assert from_arrays(np.zeros((3, 2)), [1, 0, 2], class_names=["r", "g", "b"]).terms is None


def test_truth_values_are_classes_by_their_names():
    x, y = np.eye(4, dtype=np.float32), np.array([True, False, False, True])
    data = from_arrays(x, y, clean=~y, test=(x, y))
    assert data.class_names == ("False", "True") and data.train.given.tolist() == [1, 0, 0, 1]
    assert data.train.clean.tolist() == [0, 1, 1, 0] and data.test.given.tolist() == [1, 0, 0, 1]
    assert data.terms.tolist() == [0, 1]
    assert from_arrays(x, np.ones(4, dtype=bool)).train.given.tolist() == [0, 0, 0, 0]
    counted = from_arrays(x, y, clean=[1, 0, 0, 1])
    assert counted.class_names == ("0", "1") and counted.train.given.tolist() == [1, 0, 0, 1]
    named = from_arrays(x, y, class_names=["bad", "good"])
    assert named.class_names == ("bad", "good") and named.train.given.tolist() == [1, 0, 0, 1]


def test_texts_are_for_people() -> None:
    data = from_arrays(np.eye(4), [0, 1, 0, 1], texts=["a", "b", "c", "d"])
    assert data.train.texts is not None and data.train.take(np.array([2, 0])).texts["text"].tolist() == ["c", "a"]
    with pytest.raises(PencilError, match="there are 1 texts for 4 examples"):
        from_arrays(np.eye(4), [0, 1, 0, 1], texts=["a"])


def test_truth_values_beside_missing_ones_stay_truth_values() -> None:
    given = np.array([np.True_, np.False_, None, np.True_], dtype=object)
    data = from_arrays(np.zeros((4, 2)), given)
    assert data.train.given.tolist() == [1, 0, -1, 1] and (data.terms[[1, 0, 1]] == given[[0, 1, 3]]).all()
