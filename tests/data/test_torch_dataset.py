"""Any map-style dataset of (input, label) can be trained on; inputs are read when asked for."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset, TensorDataset

import pencil
from pencil.config.settings import DataSettings
from pencil.data import from_arrays, from_torch, prepare
from pencil.errors import PencilError


class Counting(Dataset):
    """Images as floats from 0 to 1, channels first, and a count of the calls."""

    classes = ("cat", "dog")

    def __init__(self, images):
        self.images, self.calls = images, 0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, place):
        self.calls += 1
        return torch.from_numpy(self.images[place]).permute(2, 0, 1) / 255, place % 2


def test_inputs_are_read_by_calling_and_labels_once(fakes):
    source = Counting(fakes.pixels(30, 8))
    data = from_torch(source)
    calls = source.calls
    assert data.train.inputs.array is None and data.class_names == ("cat", "dog")
    np.testing.assert_array_equal(data.train.given, np.arange(30) % 2)
    assert source.calls == calls
    read = data.train.inputs.read(np.array([7, 3]))
    np.testing.assert_array_equal(read, fakes.pixels(30, 8)[[7, 3]])
    assert source.calls == calls + 2


def test_it_is_prepared_like_any_other(fakes):
    data = prepare(from_torch(Counting(fakes.pixels(30, 8))), DataSettings(noise="symmetric:0.3"), seed=0)
    assert len(data.held_out) == 3 and data.train.inputs.array is None
    assert len(data.preparation.mean) == 3
    np.testing.assert_array_equal(
        data.held_out.inputs.read(np.array([1]))[0], fakes.pixels(30, 8)[int(data.held_out.ids[1])]
    )


def test_rows_and_labels_of_tensors():
    data = from_torch(TensorDataset(torch.arange(6.0).view(3, 2), torch.tensor([5, 9, 5])))
    assert data.preparation.kind == "rows" and data.class_names == ("5", "9")
    np.testing.assert_array_equal(data.train.inputs.read(np.array([2])), [[4, 5]])
    assert data.train.inputs.read(np.array([2])).dtype == np.float32


def test_pillow_images_and_test_data(fakes):
    items = [(Image.fromarray(image), "ab"[place % 2]) for place, image in enumerate(fakes.pixels(4, 8))]
    data = from_torch(items, test=items[:2], ids=list("wxyz"))
    np.testing.assert_array_equal(data.test.inputs.read(np.arange(2)), fakes.pixels(4, 8)[:2])
    assert data.train.ids.tolist() == list("wxyz")


def test_normalised_images_are_refused():
    with pytest.raises(PencilError, match=r"leave normalising out"):
        from_torch(TensorDataset(torch.randn(4, 3, 8, 8), torch.arange(4)))


def test_a_missing_value_is_refused_where_all_would_have_to_be_called_to_count_them():
    rows = torch.zeros(20, 3)
    rows[17, 1] = torch.nan
    data = from_torch(TensorDataset(rows, torch.arange(20) % 2))
    with pytest.raises(PencilError, match=r"example 17 holds NaN; fill in .* or give its rows as an array"):
        data.train.inputs.read(np.arange(20))


def test_digits_that_32_bits_do_not_hold_are_told_of_as_those_of_arrays_are() -> None:
    rows = torch.randn(3000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows[7, 0] = torch.nan
    far = rows + torch.tensor([0.0, 1e9])
    labels = torch.arange(3000) % 2
    assert "blurred" not in from_torch(TensorDataset(rows, labels)).facts
    assert "blurred" not in from_torch(TensorDataset(far.float(), labels)).facts, "those digits are gone already"
    assert from_torch(TensorDataset(far, labels)).facts["blurred"].startswith("column 2 varies by")
    with pytest.raises(PencilError, match=r"column 2 varies by .* which 32 bits do not tell apart"):
        pencil.fit(TensorDataset(far, labels), epochs=[1, 1, 1])


def test_shapes_must_agree():
    items = [(np.zeros((8, 8, 3), np.uint8), 0), (np.zeros((9, 8, 3), np.uint8), 1)]
    data = from_torch(items)
    with pytest.raises(PencilError, match=r"example 1 has shape \(9, 8, 3\)"):
        data.train.inputs.read(np.arange(2))


@pytest.mark.parametrize(("items", "message"), [([], "empty"), ([1, 2], "must give"), ([("a", 1)], "give a row")])
def test_what_is_no_such_dataset_is_refused(items, message):
    with pytest.raises(PencilError, match=message):
        from_torch(items)


@pytest.mark.parametrize("shapes", [((5,), (6,)), ((3, 8, 8), (3, 10, 10))])
def test_test_inputs_of_another_shape_are_refused(shapes):
    train, test = (TensorDataset(torch.rand(4, *shape), torch.tensor([0, 1, 0, 1])) for shape in shapes)
    with pytest.raises(PencilError, match=r"test inputs are .*; give the same shape"):
        from_torch(train, test=test)


def test_raw_test_inputs_of_another_kind_are_refused():
    train, test = (TensorDataset(x, torch.tensor([0, 1])) for x in (torch.rand(2, 3), torch.ones(2, 3).long()))
    with pytest.raises(PencilError, match=r"whole numbers and floats; give both as the same"):
        from_torch(train, test=test, raw=True)


def test_a_number_of_classes_is_no_list_of_their_names(fakes):
    source = Counting(fakes.pixels(4, 8))
    source.classes = 2
    assert from_torch(source).class_names == ("0", "1")


def test_names_that_come_with_the_classes_are_the_terms():
    source = TensorDataset(torch.rand(2, 3), torch.tensor([1, 0]))
    assert from_torch(source, class_names=["r", "g"]).terms is None
    named = [(row, name) for (row, _), name in zip(source, "gr", strict=True)]
    assert from_torch(named, class_names=["r", "g"]).terms.tolist() == ["r", "g"]


def test_images_with_a_palette_are_read_in_their_colours(fakes):
    coloured = [Image.fromarray(image // 64 * 64) for image in fakes.pixels(4, 8)]
    items = [(image.quantize(256), place % 2) for place, image in enumerate(coloured)]
    read = from_torch(items).train.inputs.read(np.arange(4))
    np.testing.assert_array_equal(read, np.stack([np.asarray(image.convert("RGB")) for image, _ in items]))
    assert read.shape == (4, 8, 8, 3)


def test_images_of_black_and_white_are_read_as_from_arrays(fakes):
    black_and_white = fakes.pixels(4, 8)[..., 0] > 100
    expected = from_arrays(black_and_white, [0, 1, 0, 1]).train.inputs.read(np.arange(4))
    assert set(np.unique(expected)) == {0, 255}
    for images in (black_and_white, [Image.fromarray(image) for image in black_and_white]):
        read = from_torch([(image, place % 2) for place, image in enumerate(images)]).train.inputs.read(np.arange(4))
        np.testing.assert_array_equal(read, expected)


def test_an_iterable_dataset_with_a_length_is_refused():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(())

        def __len__(self):
            return 3

    with pytest.raises(PencilError, match="give a map-style dataset"):
        from_torch(Stream())
