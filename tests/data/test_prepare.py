"""Settings are applied to a dataset in order, and what cannot be trained on is refused."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from pencil.config.settings import DataSettings
from pencil.data import ArrayInputs, Examples, from_arrays, prepare
from pencil.errors import PencilError


def images(fakes, count=40, classes=4):
    return from_arrays(fakes.pixels(count, 8), np.arange(count) % classes)


def test_a_share_is_held_out_and_every_example_is_in_one_set(fakes):
    data = prepare(images(fakes), DataSettings(held_out=0.25), seed=0)
    assert len(data.held_out) == 10 and len(data.train) == 30
    assert set(data.train.ids) | set(data.held_out.ids) == set(images(fakes).train.ids)
    place = list(images(fakes).train.ids).index(data.held_out.ids[0])
    np.testing.assert_array_equal(data.held_out.inputs.read(np.array([0]))[0], fakes.pixels(40, 8)[place])


def test_no_copy_of_a_held_out_example_is_learned():
    rows = np.tile(np.random.default_rng(0).random((200, 3), dtype=np.float32), (3, 1))
    labels = np.tile(np.arange(200) % 4, 3)
    data = prepare(from_arrays(rows, labels), DataSettings(held_out=0.1), seed=0)
    learned, apart = ({row.tobytes() for row in part.inputs.array} for part in (data.train, data.held_out))
    assert (len(data.train), len(data.held_out)) == (540, 60) and len(apart) == 20
    assert not learned & apart and data.facts["copies"] == 360
    few = np.where(np.arange(600) < 5, (labels + 1) % 4, labels)
    assert 340 < prepare(from_arrays(rows, few), DataSettings(held_out=0.1), seed=0).facts["copies"] < 360
    many = np.where(np.arange(600) < 40, (labels + 1) % 4, labels)
    assert "copies" not in prepare(from_arrays(rows, many), DataSettings(held_out=0.1), seed=0).facts
    different = np.concatenate([labels[:200], (labels[:200] + 1) % 4, labels[:200]])
    data = prepare(from_arrays(rows, different), DataSettings(held_out=0.1), seed=0)
    assert "copies" not in data.facts, "rows that are alike but have labels of their own"
    unknown = np.where(np.arange(600) < 200, labels, -1)
    assert "copies" not in prepare(from_arrays(rows, unknown), DataSettings(held_out=0.1), seed=0).facts


def test_a_few_inputs_that_are_all_there_are_can_be_held_out():
    labels = np.arange(300) % 10
    data = prepare(from_arrays(np.eye(10, dtype=np.float32)[labels], labels), DataSettings(held_out=0.1), seed=0)
    assert len(data.held_out) == 30 and "copies" not in data.facts


def test_images_and_tensors_may_be_copies_too(fakes):
    pixels = np.concatenate([fakes.pixels(40, 8)] * 2)
    assert prepare(from_arrays(pixels, np.tile(np.arange(40) % 4, 2)), DataSettings(), seed=0).facts["copies"] == 36


def test_a_held_out_set_of_its_own_is_kept(fakes):
    data = images(fakes)
    own = replace(data, held_out=data.train.take(np.arange(5)), train=data.train.take(np.arange(5, 40)))
    asked = prepare(own, DataSettings(held_out=0.5), seed=0)
    assert len(asked.held_out) == 5
    assert asked.facts["own_held_out"] == (
        "the data has a set of its own to hold out, of 5 examples, and no others are: held_out (0.5) changes nothing."
    )
    assert "own_held_out" not in prepare(own, DataSettings(), seed=0).facts, "nobody asked"


def test_nothing_is_held_out_on_request(fakes):
    assert prepare(images(fakes), DataSettings(held_out=0.0), seed=0).held_out is None


def test_statistics_are_those_of_the_training_part(fakes):
    data = prepare(images(fakes), DataSettings(held_out=0.25), seed=0)
    trained_on = data.train.inputs.array.reshape(-1, 3).astype(np.float64)
    np.testing.assert_allclose(data.preparation.mean, trained_on.mean(axis=0))
    np.testing.assert_allclose(data.preparation.std, trained_on.std(axis=0))


def test_statistics_that_a_source_fixed_are_kept(fakes):
    data = images(fakes)
    fixed = replace(data, preparation=replace(data.preparation, mean=(1.0, 2.0, 3.0), std=(4.0, 5.0, 6.0)))
    assert prepare(fixed, DataSettings(), seed=0).preparation.mean == (1.0, 2.0, 3.0)


def test_augmentation_is_overridden(fakes):
    settings = DataSettings(augment={"pad": 2, "flip": False, "crop": 10})
    preparation = prepare(images(fakes), settings, seed=0).preparation
    assert (preparation.pad, preparation.flip, preparation.crop) == (2, False, 10)


@pytest.mark.parametrize(
    ("augment", "message"),
    [
        ({"flap": True}, 'no augmentation "flap". Did you mean "flip"'),
        ({"pad": -1}, "augment.pad is -1; give a number of pixels"),
        ({"flip": 1}, "augment.flip is 1; give true or false"),
        ({"crop": 11}, "augment.crop is 11, more than the image"),
    ],
)
def test_a_wrong_augmentation_is_refused(fakes, augment, message):
    with pytest.raises(PencilError, match=message):
        prepare(images(fakes), DataSettings(augment=augment), seed=0)


def test_rows_are_not_augmented():
    with pytest.raises(PencilError, match=r"this data is rows"):
        prepare(from_arrays(np.zeros((4, 2)), [0, 1, 0, 1]), DataSettings(augment={"pad": 1}), seed=0)


def test_one_class_is_not_enough(fakes):
    with pytest.raises(PencilError, match=r'1 class .*"7".*at least two'):
        prepare(from_arrays(fakes.pixels(3, 8), [7, 7, 7]), DataSettings(), seed=0)
    named = from_arrays(fakes.pixels(3, 8), [1, 1, -1], class_names=["a", "b"])
    with pytest.raises(PencilError, match=r'only the class "b"'):
        prepare(named, DataSettings(), seed=0)


def test_a_users_labels_out_of_range_are_named(fakes):
    data = images(fakes)
    wrong = Examples(data.train.inputs, data.train.ids, np.full(40, 9))
    with pytest.raises(PencilError, match=r"has the label 9; give 0 to 3"):
        prepare(replace(data, train=wrong), DataSettings(), seed=0)


def test_a_users_ids_must_differ(fakes):
    wrong = Examples(ArrayInputs(fakes.pixels(2, 8)), np.array(["same", "same"]), np.array([0, 1]))
    with pytest.raises(PencilError, match=r'"same" occurs 2 times'):
        prepare(replace(images(fakes), train=wrong), DataSettings(), seed=0)


def test_the_fingerprint_follows_ids_and_labels(fakes):
    plain, again, noisy = (
        prepare(images(fakes), DataSettings(noise=noise), seed=0).facts["fingerprint"]
        for noise in ("", "", "symmetric:0.9")
    )
    assert plain == again != noisy


def test_a_share_of_labels_is_spared_by_the_noise_and_trusted(fakes):
    settings = DataSettings(noise="symmetric:1", trusted=0.25, held_out=0.0)
    train = prepare(images(fakes, 400), settings, seed=3).train
    assert train.trusted.sum() == 100
    assert (train.given == train.clean)[train.trusted].all()
    assert (train.given != train.clean)[~train.trusted].any()
    np.testing.assert_array_equal(prepare(images(fakes, 400), settings, seed=3).train.trusted, train.trusted)
    assert (prepare(images(fakes, 400), settings, seed=4).train.trusted != train.trusted).any()


def test_what_was_trusted_before_stays_so(fakes):
    marks = np.arange(40) < 4
    data = from_arrays(fakes.pixels(40, 8), np.arange(40) % 4, trusted=marks)
    train = prepare(data, DataSettings(noise="symmetric:0.5", trusted=0.1, held_out=0.0), seed=0).train
    assert train.trusted[:4].all() and 4 <= train.trusted.sum() <= 8


def test_labels_are_trusted_only_beside_injected_noise(fakes):
    with pytest.raises(PencilError, match=r"data\.trusted is a share.*with noise"):
        prepare(images(fakes), DataSettings(trusted=0.1), seed=0)


def test_a_quantity_is_not_taken_for_classes() -> None:
    prices = np.array([f"{n / 7:.4f}" for n in range(60)] + ["?"] * 20)
    line = (
        r"labels of arrays are numbers such as 0\.1429, nearly each in one example only: a quantity, .* as low, middle"
    )
    with pytest.raises(PencilError, match=line) as caught:
        prepare(from_arrays(np.eye(80), prices), DataSettings(), seed=0)
    assert "\n" not in str(caught.value)
    decimals = [Decimal(price) for price in prices[:60]]
    with pytest.raises(PencilError, match=line):
        prepare(from_arrays(np.eye(60), decimals), DataSettings(), seed=0)


@pytest.mark.parametrize(
    "names", [[f"{n}.{n}" for n in range(30)] * 2, [str(n) for n in range(60)], [f"{n}.1 m" for n in range(60)]]
)
def test_classes_may_be_fractions_or_have_an_example_each(names: list[str]) -> None:
    data = prepare(from_arrays(np.eye(60), names), DataSettings(), seed=0)
    assert data.num_classes == len(set(names))


@pytest.mark.parametrize("other", ["cafe\u0301", "caf\u00e9 ", " caf\u00e9", "caf\u00e9\u00a0"])
def test_classes_that_nobody_can_tell_apart_are_refused(other: str) -> None:
    names = np.array(["caf\u00e9", other, "tea", "tea"])
    with pytest.raises(PencilError, match=r"two classes of arrays are called .café. but for spaces or signs"):
        prepare(from_arrays(np.eye(4), names), DataSettings(), seed=0)
    assert prepare(from_arrays(np.eye(4)[1:], names[1:]), DataSettings(), seed=0).class_names == (other, "tea")


def test_names_that_no_file_can_hold_are_refused() -> None:
    with pytest.raises(PencilError, match=r"the id 'caf\\udce9' is not Unicode text; rename it\."):
        prepare(from_arrays(np.zeros((2, 1)), [0, 1], ids=["tea", "caf\udce9"]), DataSettings(), seed=0)
    with pytest.raises(PencilError, match=r"the class 'caf\\udce9' is not Unicode text; rename it\."):
        prepare(from_arrays(np.zeros((2, 1)), ["tea", "caf\udce9"]), DataSettings(), seed=0)
