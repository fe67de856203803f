"""Every noise model by a rate alone gives a transition matrix, and each the one its convention says."""

import numpy as np
import pytest

from pencil import plugins
from pencil.data import noise
from pencil.errors import PencilError

MODELS = [name for name in plugins.names(noise.PACKAGE) if name not in ("crowd", "matrix")]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_each_row_is_a_distribution(model, rate):
    made = noise.make(f"{model}:{rate}", 10)
    np.testing.assert_allclose(made.transition.sum(axis=1), 1)
    assert made.convention.endswith(".")
    if rate == 0:
        np.testing.assert_array_equal(made.transition, np.eye(10))


def test_symmetric_conventions_differ_in_the_true_class():
    np.testing.assert_allclose(np.diag(noise.make("symmetric:0.5", 10).transition), 0.55)
    np.testing.assert_allclose(np.diag(noise.make("symmetric_excluding:0.5", 10).transition), 0.5)


def test_asymmetric_cifar10_moves_the_papers_pairs():
    names = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    pairs = {"truck": "automobile", "bird": "airplane", "deer": "horse", "cat": "dog", "dog": "cat"}
    matrix = noise.make("asymmetric_cifar10:0.4", 10).transition
    for row, name in enumerate(names):
        expected = np.zeros(10)
        expected[row] = 1.0
        if name in pairs:
            expected[row], expected[names.index(pairs[name])] = 0.6, 0.4
        np.testing.assert_allclose(matrix[row], expected)


def test_asymmetric_cifar10_needs_ten_classes():
    with pytest.raises(PencilError, match=r"this data has 100; take asymmetric_next"):
        noise.make("asymmetric_cifar10:0.4", 100)


def test_asymmetric_next_wraps_around():
    matrix = noise.make("asymmetric_next:0.2", 3).transition
    np.testing.assert_allclose(matrix, [[0.8, 0.2, 0], [0, 0.8, 0.2], [0.2, 0, 0.8]])


@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_a_matrix_from_a_file(tmp_path, suffix):
    matrix = np.array([[0.9, 0.1], [0.4, 0.6]])
    path = tmp_path / f"t.{suffix}"
    np.save(path, matrix) if suffix == "npy" else np.savetxt(path, matrix, delimiter=",")
    np.testing.assert_allclose(noise.make(f"matrix:{path}", 2).transition, matrix)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 0.0]], r"shape \(1, 2\); 2 classes need 2 × 2"),
        ([[1.0, 0.0], [0.5, 0.6]], "row 2 sums to 1.1"),
        ([[1.5, -0.5], [0, 1]], "row 1"),
    ],
)
def test_a_wrong_matrix_is_refused(tmp_path, matrix, message):
    np.save(tmp_path / "t.npy", np.array(matrix))
    with pytest.raises(PencilError, match=message):
        noise.make(f"matrix:{tmp_path / 't.npy'}", 2)


def test_a_matrix_that_is_missing_or_no_matrix(tmp_path):
    with pytest.raises(PencilError, match=r"there is no such file"):
        noise.make("matrix:nowhere.npy", 2)
    (tmp_path / "t.csv").write_text("a,b\nc,d\n")
    with pytest.raises(PencilError, match=r"is not a matrix of numbers"):
        noise.make(f"matrix:{tmp_path / 't.csv'}", 2)
