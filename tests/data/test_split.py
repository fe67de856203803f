"""The held-out share is random, repeatable and proportional to the classes."""

import numpy as np

from pencil.data.split import choose_held_out


def test_each_class_gives_its_share():
    given = np.repeat(np.arange(5), [1000, 500, 200, 100, 50])
    chosen = choose_held_out(given, 0.1, seed=0)
    assert len(chosen) == 185 and len(np.unique(chosen)) == 185
    np.testing.assert_allclose(np.bincount(given[chosen]), [100, 50, 20, 10, 5], atol=1)


def test_the_seed_decides():
    given = np.arange(100) % 2
    np.testing.assert_array_equal(choose_held_out(given, 0.3, seed=1), choose_held_out(given, 0.3, seed=1))
    assert (choose_held_out(given, 0.3, seed=1) != choose_held_out(given, 0.3, seed=2)).any()


def test_unlabelled_examples_and_the_last_of_a_class_stay():
    given = np.array([0, 1, 1, 2, 2, 2, -1, -1, -1])
    for seed in range(20):
        chosen = choose_held_out(given, 0.9, seed=seed)
        assert len(chosen) == 3
        assert set(np.delete(given, chosen)) == {0, 1, 2, -1}
