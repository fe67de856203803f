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


def test_copies_are_held_out_together_or_not_at_all():
    given = np.tile(np.arange(200) % 4, 3)
    copies = np.tile(np.arange(200), 3)
    for seed in range(5):
        chosen = choose_held_out(given, 0.1, copies, seed=seed)
        assert len(chosen) == 60
        assert np.isin(copies, copies[chosen]).sum() == 60
        np.testing.assert_array_equal(np.bincount(given[chosen]), [15, 15, 15, 15])


def test_a_class_of_copies_alone_stays_and_so_do_more_copies_than_are_held_out():
    given = np.repeat([0, 1, 2], [3, 27, 30])
    copies = np.concatenate([np.zeros(3, dtype=int), np.arange(3, 30), np.full(30, 30)])
    for seed in range(20):
        chosen = choose_held_out(given, 0.5, copies, seed=seed)
        assert set(given[chosen]) == {1}
    assert not len(choose_held_out(given[30:], 0.1, np.zeros(30, dtype=int), seed=0))


def test_where_nothing_is_copied_copies_change_nothing():
    given = np.arange(300) % 7
    alone = choose_held_out(given, 0.2, seed=3)
    np.testing.assert_array_equal(choose_held_out(given, 0.2, np.arange(300), seed=3), alone)
