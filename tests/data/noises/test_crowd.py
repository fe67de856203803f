"""Weak annotators: as many mistakes as asked for, on hard examples, by nobody who was taught the example."""

import hashlib
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from torch.utils.data import TensorDataset

from pencil.config.settings import DataSettings
from pencil.data import from_arrays, from_torch, noise, prepare
from pencil.data.noises import crowd
from pencil.errors import PencilError

PIXELS, TRUE = load_digits(return_X_y=True)
IMAGES = np.uint8(15 * PIXELS).reshape(-1, 8, 8)


def digits(**extra):
    return from_arrays(IMAGES, TRUE, **extra)


LEARN, LEARNED = crowd._learn, {}


def learn_once(features, labels):
    known = hashlib.sha256(features.tobytes() + labels.tobytes()).digest()
    if known not in LEARNED:
        LEARNED[known] = LEARN(features, labels)
    return LEARNED[known]


@cache
def noisy_digits(spec):
    """Digits with noise; annotators of one rate who were taught what those of another were are not taught again."""
    with patch.object(crowd, "_learn", learn_once):
        return noise.inject(digits(), spec, seed=0)


def clouds(count=240, classes=3, width=4):
    labels = np.arange(count) % classes
    rng = np.random.default_rng(0)
    apart = 3 * rng.normal(size=(classes, width)) / np.sqrt(width)
    return (rng.normal(size=(count, width)) + apart[labels]).astype(np.float32), labels


@pytest.fixture
def few(monkeypatch):
    """Five annotators, where it does not matter how many."""
    monkeypatch.setattr(crowd, "ANNOTATORS", 5)


@pytest.fixture(scope="module")
def belief():
    """How likely the true class of each digit is to one who learned from the other digits."""
    shares = cross_val_predict(LogisticRegression(max_iter=500), PIXELS / 16, TRUE, cv=5, method="predict_proba")
    return shares[np.arange(len(TRUE)), TRUE]


@pytest.mark.parametrize("rate", [0.15, 0.3])
def test_as_many_labels_are_wrong_as_asked_for(rate):
    noisy = noisy_digits(f"crowd:{rate}")
    wrong = (noisy.train.given != noisy.train.clean).mean()
    assert wrong == pytest.approx(rate, abs=0.01)
    record = noisy.facts["noise"]
    assert record["rate"] == rate and record["measured_percent"] == pytest.approx(100 * wrong, abs=1e-3)
    assert record["told"].startswith("20 annotators, each taught ")
    assert record["told"].endswith(f"of a class: {100 * wrong:.1f}% of the labels changed")
    assert record["convention"].startswith("Each label is by one of 20 weak annotators")


def test_the_matrix_is_what_was_drawn():
    noisy = noisy_digits("crowd:0.3")
    given, clean, matrix = noisy.train.given, noisy.train.clean, np.array(noisy.facts["transition"])
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    assert matrix[3, 8] == pytest.approx((given[clean == 3] == 8).mean())


@pytest.mark.parametrize(("spec", "sits_on_hard_ones"), [("crowd:0.15", True), ("crowd:0.3", True),
                                                         ("symmetric_excluding:0.3", False)])  # fmt: skip
def test_mistakes_sit_on_hard_examples(belief, spec, sits_on_hard_ones):
    given = noisy_digits(spec).train.given
    wrong, right = belief[given != TRUE], belief[given == TRUE]
    error = np.sqrt(wrong.var() / len(wrong) + right.var() / len(right))
    difference = (right.mean() - wrong.mean()) / error
    # Without a connection it stays within four standard errors but once in 16,000 times.
    assert difference > 8 if sits_on_hard_ones else abs(difference) < 4


def test_the_seed_decides(few):
    data = from_arrays(*clouds())
    first, again, other = (noise.inject(data, "crowd:0.2", seed=seed).train.given for seed in (4, 4, 5))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("per_class", [2, 3, 80])
def test_nobody_labels_what_it_was_taught(monkeypatch, per_class):
    labelled = []

    class Watched(LogisticRegression):
        def fit(self, x, y):
            self.taught = {row.tobytes() for row in x}
            return super().fit(x, y)

        def predict(self, x):
            asked = [row.tobytes() for row in x]
            assert not self.taught.intersection(asked)
            labelled.append(len(asked))
            return super().predict(x)

    monkeypatch.setattr(crowd, "LogisticRegression", Watched)
    monkeypatch.setattr(crowd, "CLOSE", 1.0)
    x, y = clouds(3 * per_class)
    noise.inject(from_arrays(x, y), "crowd:0.2", seed=0)
    assert sum(labelled) % len(y) == 0, "each time everything was labelled"


def test_the_only_example_of_a_class_keeps_its_label(few):
    x, y = clouds()
    y[0] = 3
    given = noise.inject(from_arrays(x, y), "crowd:0.2", seed=0).train.given
    assert given[0] == 3


def test_trusted_unlabelled_and_test_examples_are_spared(few):
    trusted = np.arange(len(TRUE)) < 600
    some = np.where(np.arange(len(TRUE)) >= 1700, -1, TRUE)
    data = from_arrays(IMAGES, some, trusted=trusted, test=(IMAGES[:50], TRUE[:50]), class_names=list("0123456789"))
    noisy = noise.inject(data, "crowd:0.3", seed=0)
    np.testing.assert_array_equal(noisy.train.given[trusted], TRUE[trusted])
    np.testing.assert_array_equal(noisy.train.given[1700:], -1)
    np.testing.assert_array_equal(noisy.test.given, TRUE[:50])
    assert (noisy.train.given != some)[600:1700].mean() == pytest.approx(0.3, abs=0.05)


def test_a_held_out_set_is_labelled_by_the_same_annotators(few):
    whole = digits()
    apart = np.flatnonzero(TRUE != 3)[:300]
    stay = np.setdiff1d(np.arange(len(TRUE)), apart)
    data = replace(whole, train=whole.train.take(stay), held_out=whole.train.take(apart))
    noisy = noise.inject(data, "crowd:0.3", seed=0)
    wrong = [(part.given != part.clean).sum() for part in (noisy.train, noisy.held_out)]
    assert sum(wrong) / len(TRUE) == pytest.approx(0.3, abs=0.01)
    assert wrong[1] / 300 == pytest.approx(0.3, abs=0.1)
    assert (noisy.held_out.given == 3).any(), "annotators of its own would not know a class that it lacks"


def test_rows_and_many_columns():
    x, y = clouds(width=100)
    wide = from_arrays(x, y)
    assert crowd._features([wide.train.inputs]).shape == (240, 64)
    noisy = prepare(wide, DataSettings(noise="crowd:0.3"), seed=1)
    assert noisy.facts["noise"]["measured_percent"] == pytest.approx(30, abs=3)


def test_large_pictures_are_seen_small(monkeypatch):
    pictures = np.random.default_rng(0).integers(0, 255, (9, 100, 70, 3), dtype=np.uint8)
    whole = crowd._features([from_arrays(pictures, np.arange(9) % 2).train.inputs])
    monkeypatch.setattr(crowd, "_BYTES", 8 * 100 * 70 * 3 * 2)
    few_at_a_time = crowd._features([from_arrays(pictures, np.arange(9) % 2).train.inputs])
    np.testing.assert_allclose(whole, few_at_a_time, atol=1e-9)
    assert whole.shape == (9, 9)
    np.testing.assert_allclose(crowd._shrunk(np.ones((2, 33, 64, 3))), np.ones((2, 16, 32, 3)))


@pytest.mark.parametrize("rate", ["0.9", "0"])
def test_a_rate_out_of_reach_is_refused(rate):
    reached = r"weak annotators get 0\.0\d\d to 0\.[34]\d\d of these labels wrong"
    with pytest.raises(PencilError, match=f'noise "crowd:{rate}": {reached}'):
        noisy_digits(f"crowd:{rate}")


@pytest.mark.parametrize("spec", ["crowd", "crowd:many", "crowd:1.2"])
def test_a_rate_must_be_a_share(spec):
    with pytest.raises(PencilError, match=r"the rate must be a number from 0 to 1"):
        noise.make(spec, 10)


def test_inputs_that_are_read_one_by_one_are_refused():
    x, y = clouds()
    data = from_torch(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)))
    with pytest.raises(PencilError, match=r'noise "crowd:0.2" looks at all inputs, which these give only one by one'):
        noise.inject(data, "crowd:0.2", seed=0)
