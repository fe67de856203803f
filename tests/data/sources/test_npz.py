"""Arrays in a NumPy file."""

import numpy as np
import pytest

from pencil.errors import PencilError


def test_all_its_parts_are_read(fakes, load_data, tmp_path):
    parts = {"x_test": fakes.pixels(2, 8, seed=1), "y_test": [1, 0], "clean": [0, 1, 1, 1], "ids": list("abcd")}
    np.savez(tmp_path / "d.npz", x=fakes.pixels(4, 8), y=[0, 1, 0, 1], class_names=["cat", "dog"], **parts)
    data = load_data(tmp_path / "d.npz", held_out=0.0)
    assert data.class_names == ("cat", "dog") and data.train.ids.tolist() == list("abcd")
    assert data.train.clean.tolist() == [0, 1, 1, 1] and data.test.given.tolist() == [1, 0]
    np.testing.assert_array_equal(data.train.inputs.array, fakes.pixels(4, 8))


def test_the_names_x_train_and_y_train_do_too(load_data, tmp_path):
    np.savez(tmp_path / "d.npz", x_train=np.eye(4), y_train=[0, 1, 0, 1])
    assert len(load_data(tmp_path / "d.npz", held_out=0.0).train) == 4


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.eye(2)}, 'no array "y"'),
        ({"x": np.eye(2), "y": [0, 1], "x_test": np.eye(2)}, 'no array "y_test"'),
        ({"x": np.eye(2), "y": [0, 1, 0]}, "3 labels for 2 examples"),
        ({"x": np.eye(2), "y": np.array([{}, {}])}, "write plain arrays"),
        ({"x": np.array([[0, np.inf]]), "y": [0]}, "row 1, column 2 is inf"),
    ],
)
def test_wrong_content_is_named_with_its_file(load_data, tmp_path, arrays, message):
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(PencilError, match=rf"d\.npz.*{message}"):
        load_data(tmp_path / "d.npz")


def test_a_damaged_file(load_data, tmp_path):
    (tmp_path / "d.npz").write_bytes(b"PK damaged")
    with pytest.raises(PencilError, match=r"d\.npz cannot be read"):
        load_data(tmp_path / "d.npz")


def test_names_of_classes_and_texts_in_bytes(load_data, tmp_path):
    names, texts = np.array([b"caf\xc3\xa9", b"tea"]), np.array([b"hot", b"cold", b"hot", b"cold"])
    np.savez(tmp_path / "d.npz", x=np.eye(4), y=[0, 1, 0, 1], class_names=names, texts=texts)
    data = load_data(tmp_path / "d.npz", held_out=0.0)
    assert data.class_names == ("café", "tea")
    assert data.train.texts["text"].tolist() == ["hot", "cold", "hot", "cold"]
