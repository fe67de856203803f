"""Noise follows its transition matrix, is repeatable, and never reaches the test set."""

import numpy as np
import pytest

from pencil.config.settings import DataSettings
from pencil.data import from_arrays, noise, prepare
from pencil.errors import PencilError


def rows(count: int, classes: int, **extra):
    labels = np.arange(count) % classes
    inputs = np.arange(count, dtype=np.float32)[:, None]
    return from_arrays(inputs, labels, test=(inputs, labels), **extra)


def test_draws_follow_the_rows_of_the_matrix():
    matrix = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]])
    labels = np.repeat(np.arange(3), 20_000)
    drawn = noise.draw(labels, matrix, np.random.default_rng(0))
    shares = np.array([np.bincount(drawn[labels == k], minlength=3) / 20_000 for k in range(3)])
    # Four standard deviations of a share at n = 20,000 are at most 4·sqrt(.25/20,000) = .0141.
    np.testing.assert_allclose(shares, matrix, atol=0.0142)
    assert (shares[matrix == 0] == 0).all()


def test_symmetric_noise_may_draw_the_true_class():
    data = noise.inject(rows(50_000, 10), "symmetric:0.5", seed=3)
    # r·(c − 1)/c of the labels change; four standard deviations at n = 50,000 are 0.89 percent.
    assert data.facts["noise"]["measured_percent"] == pytest.approx(45.0, abs=0.89)
    changed = 100 * (data.train.given != data.train.clean).mean()
    assert data.facts["noise"]["measured_percent"] == pytest.approx(changed, abs=1e-3)
    assert "true one included" in data.facts["noise"]["convention"]
    assert data.facts["noise"]["rate"] == 0.5 and np.shape(data.facts["transition"]) == (10, 10)


def test_noise_spares_test_trusted_and_unlabelled_examples():
    data = rows(1000, 2, trusted=np.arange(1000) < 500)
    given = data.train.given.copy()
    given[900:] = -1
    labels = from_arrays(np.arange(1000.0)[:, None], given, trusted=data.train.trusted, test=(np.ones((2, 1)), [0, 1]))
    noisy = noise.inject(labels, "symmetric_excluding:1", seed=0)
    np.testing.assert_array_equal(noisy.train.given[:500], given[:500])
    np.testing.assert_array_equal(noisy.train.given[500:900], 1 - given[500:900])
    np.testing.assert_array_equal(noisy.train.given[900:], -1)
    np.testing.assert_array_equal(noisy.test.given, [0, 1])


def test_the_same_seed_gives_the_same_noise():
    data = rows(500, 5)
    first, again = (noise.inject(data, "symmetric:0.4", seed=7).train.given for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (noise.inject(data, "symmetric:0.4", seed=8).train.given != first).any()


def test_noise_seed_holds_while_the_split_follows_the_seed():
    settings = DataSettings(noise="symmetric:0.4", noise_seed=5, held_out=0.2)
    one, two = (prepare(rows(200, 4), settings, seed=seed) for seed in (1, 2))

    def by_id(data):
        sets = (data.train, data.held_out)
        return {name: label for part in sets for name, label in zip(part.ids, part.given, strict=True)}

    assert by_id(one) == by_id(two)
    assert set(one.held_out.ids) != set(two.held_out.ids)


def test_held_out_labels_are_noisy_too():
    data = prepare(rows(1000, 2), DataSettings(noise="symmetric:1", held_out=0.5), seed=0)
    assert (data.held_out.given != data.held_out.clean).any()


@pytest.mark.parametrize("spec", ["symmetric", "symmetric:", "symmetric:much", "symmetric:1.5", "symmetric:-0.1"])
def test_a_rate_must_be_a_share(spec):
    with pytest.raises(PencilError, match=r"the rate must be a number from 0 to 1, e.g. symmetric:0.4"):
        noise.make(spec, 10)


def test_an_unknown_model_suggests_the_near_one():
    with pytest.raises(PencilError, match=r'no noise model "symetric". Did you mean "symmetric"'):
        noise.make("symetric:0.4", 10)
    with pytest.raises(PencilError, match=r'Did you mean "asymmetric_next" or "asymmetric_cifar10"\?'):
        noise.make("asymmetric:0.4", 10)


def test_a_model_of_the_users_own(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("import numpy as np\ndef flip(c, argument):\n    'Always flips.'\n    return np.eye(c)[::-1]\n")
    made = noise.make(f"{file}:flip:ignored", 2)
    assert made.argument == "ignored" and made.convention == "Always flips."
    np.testing.assert_array_equal(made.transition, [[0, 1], [1, 0]])


LABELLER = """
import numpy as np
class Mine:
    def label(self, sets, rng):
        return {answer}
def make(c, argument):
    return Mine()
"""


def labelled_by(tmp_path, answer, data):
    file = tmp_path / "mine.py"
    file.write_text(LABELLER.format(answer=answer))
    return noise.inject(data, f"{file}:make:0.3", seed=0)


def test_a_labeller_of_the_users_own(tmp_path):
    answer = '[np.where(s.given < 0, -1, (s.given + 1) % 3).astype(np.int8) for s in sets], "next"'
    for given in (np.arange(9) % 3, np.where(np.arange(9) == 4, -1, np.arange(9) % 3)):
        noisy = labelled_by(tmp_path, answer, from_arrays(np.zeros((9, 1)), given, class_names=["a", "b", "c"]))
        np.testing.assert_array_equal(noisy.train.given, np.where(given < 0, -1, (given + 1) % 3))
        assert noisy.train.given.dtype == np.int64 and noisy.facts["noise"]["told"].startswith("next: 100.0%")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('[s.given + 5 for s in sets], ""', r"gives example 1 the class 5; return 0 to 2"),
        ('[s.given - 1 for s in sets], ""', r"gives example 1 the class -1; return 0 to 2"),
        ('[np.abs(s.given) for s in sets], ""', r"gives example 5 the class 1; return -1, as it has no label"),
        ('[s.given[:4] for s in sets], ""', r"labels of shape \(4,\) and type int64 for 9 examples; return one"),
        ('[s.given + 0.5 for s in sets], ""', r"type float64 for 9 examples; return one whole number"),
        ('[], ""', r"was given 1 sets; return a label array for each"),
        ("[s.given for s in sets]", r"must return a list of label arrays, one for each set, and a text"),
        ("None", r"must return a list of label arrays"),
    ],
)
def test_labels_that_are_none_are_refused_in_one_line(tmp_path, answer, words):
    data = from_arrays(np.zeros((9, 1)), np.where(np.arange(9) == 4, -1, np.arange(9) % 3))
    with pytest.raises(PencilError, match=rf'noise ".*mine\.py:make:0\.3".*{words}') as e:
        labelled_by(tmp_path, answer, data)
    assert "\n" not in str(e.value)


def test_a_model_that_makes_something_else_is_refused(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def make(c, argument):\n    return 'noise'\n")
    with pytest.raises(PencilError, match=r"makes a str; let it return a matrix of numbers, or an object"):
        noise.make(f"{file}:make", 2)


def test_soft_labels_get_no_noise():
    data = from_arrays(np.zeros((2, 1)), np.array([[0.5, 0.5], [0.1, 0.9]]))
    with pytest.raises(PencilError, match=r"soft labels or votes"):
        noise.inject(data, "symmetric:0.4", seed=0)
