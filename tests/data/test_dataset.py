"""Taking examples keeps their parts together, in memory, mapped or read one by one."""

import numpy as np

from pencil.data import ArrayInputs, Examples, Selection, dataset
from pencil.data.images.cache import MappedInputs


def test_taken_examples_stay_together():
    inputs = np.arange(10, dtype=np.float32)[:, None]
    clean, marks = np.arange(10) % 3, np.arange(10) > 4
    whole = Examples(ArrayInputs(inputs), np.arange(10).astype(str), np.arange(10) % 2, clean=clean, trusted=marks)
    part = whole.take(np.array([8, 1])).take(np.array([1, 0]))
    assert part.ids.tolist() == ["1", "8"] and part.clean.tolist() == [1, 2] and part.trusted.tolist() == [False, True]
    np.testing.assert_array_equal(part.inputs.array, [[1], [8]])


def test_a_selection_of_a_mapped_file_reads_only_what_is_asked(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.arange(10, dtype=np.uint8)[:, None])
    inputs = MappedInputs(tmp_path / "x.npy", 0, 10)
    first = dataset.select(inputs, np.array([9, 5, 1]))
    second = dataset.select(first, np.array([2, 0]))
    assert isinstance(second, Selection) and second.base is inputs
    np.testing.assert_array_equal(second.read(np.array([1])), [[9]])
    np.testing.assert_array_equal(second.array, [[1], [9]])
    monkeypatch.setattr(dataset, "LARGEST_COPY", 1)
    assert second.array is None


def test_the_order_of_the_source_can_be_found_again():
    inputs = ArrayInputs(np.arange(10, dtype=np.float32)[:, None])
    whole = Examples(inputs, np.arange(10).astype(str), np.zeros(10, np.int64)).take(np.arange(2, 10))
    parts = [whole.take(np.array([0, 2, 5])).inputs, whole.take(np.array([1, 3, 4, 6, 7])).inputs]
    assert all(part.base is inputs for part in parts)
    assert sorted(np.concatenate([part.index for part in parts])) == list(range(2, 10))
