"""The digits inside scikit-learn."""

import numpy as np
from sklearn.datasets import load_digits


def test_every_digit_is_in_one_set_with_its_label(load_data):
    data = load_data("digits", held_out=0.0)
    assert len(data.train) + len(data.test) == 1797
    assert len(set(data.train.ids) | set(data.test.ids)) == 1797
    truth = load_digits()
    place = int(data.test.ids[5].split("/")[1])
    np.testing.assert_allclose(data.test.inputs.array[5, ..., 0] / 255 * 16, truth.images[place], atol=0.04)
    assert data.test.given[5] == truth.target[place]


def test_each_digit_gives_a_fifth_to_the_test_always_the_same(load_data):
    one, two = load_data("digits", seed=0), load_data("digits", seed=1)
    assert one.test.ids.tolist() == two.test.ids.tolist()
    counts = np.bincount(load_digits().target)
    np.testing.assert_array_equal(np.bincount(one.test.given), np.round(counts / 5))


def test_how_it_is_prepared(load_data):
    data = load_data("digits")
    assert data.preparation.raw_shape == (8, 8, 1) and data.default_backbone == "small_cnn"
    assert (data.preparation.crop, data.preparation.pad, data.preparation.flip) == (8, 1, False)
    np.testing.assert_array_equal(data.train.clean, data.train.given)
