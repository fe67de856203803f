"""Images are decoded once, and a file in the cache is always a complete one."""

import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from pencil.data.images import cache
from pencil.errors import PencilError


@pytest.fixture
def files(fakes, tmp_path):
    return [fakes.save_image(tmp_path / "in" / f"{n}.png", image) for n, image in enumerate(fakes.pixels(5, 16))]


def decoded(files, folder, side=0):
    return cache.decoded_file(files, [file.name for file in files], side, folder)


def test_the_second_time_nothing_is_decoded(fakes, files, tmp_path, monkeypatch):
    path, shape = decoded(files, tmp_path / "cache")
    np.testing.assert_array_equal(np.load(path), fakes.pixels(5, 16))

    def refuse(*_):
        raise AssertionError("decoded again")

    monkeypatch.setattr(cache, "decode", refuse)
    monkeypatch.setattr(cache, "image_size", refuse)
    assert decoded(files, tmp_path / "cache") == (path, shape) == (path, (16, 16, 3))


def test_tiff_files_of_a_cache_that_read_them_in_another_way_are_decoded_anew(files, tmp_path, monkeypatch):
    tiffs = [file.rename(file.with_suffix(".TIF")) for file in files]
    now, _ = decoded(tiffs, tmp_path / "cache")
    monkeypatch.setattr(cache, "_TIFF_FORMAT", cache._FORMAT)
    assert decoded(tiffs, tmp_path / "cache")[0] != now


def test_a_changed_file_or_size_is_decoded_anew(fakes, files, tmp_path):
    first, _ = decoded(files, tmp_path / "cache")
    os.utime(files[0], ns=(1, 1))
    second, _ = decoded(files, tmp_path / "cache")
    third, shape = decoded(files, tmp_path / "cache", side=8)
    assert len({first, second, third}) == 3 and shape == (8, 8, 3)


def test_a_damaged_cache_is_made_again(files, tmp_path):
    path, _ = decoded(files, tmp_path / "cache")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    decoded(files, tmp_path / "cache")
    assert path.read_bytes() == whole


def test_a_file_that_cannot_be_decoded_leaves_nothing(files, tmp_path):
    files[3].write_bytes(files[3].read_bytes()[:100])
    with pytest.raises(PencilError, match=r"3\.png is not an image or is damaged"):
        decoded(files, tmp_path / "cache", side=16)
    assert list((tmp_path / "cache" / "images").iterdir()) == []


@pytest.mark.parametrize(
    ("sides", "common"),
    [((16, 16, 20), 16), ((3, 5, 90), 8), ((70, 90, 200), 64), ((90, 100, 200), 96), ((30, 500, 600), 256)],
)
def test_images_of_other_sizes_become_squares_no_larger_than_most_of_them(fakes, tmp_path, sides, common):
    pictures = [fakes.pixels(1, side)[0] for side in sides]
    # The longer side does not count.
    pictures[0] = np.concatenate([pictures[0]] * 2, axis=1)
    files = [fakes.save_image(tmp_path / f"{n}.png", picture) for n, picture in enumerate(pictures)]
    assert decoded(files, tmp_path / "cache")[1] == (common, common, 3)


def test_a_missing_file_is_named(files, tmp_path):
    with pytest.raises(PencilError, match=r"gone\.png does not exist"):
        decoded([*files, tmp_path / "gone.png"], tmp_path / "cache")


def test_mapped_inputs_travel_as_a_path(fakes, files, tmp_path):
    path, _ = decoded(files, tmp_path / "cache")
    inputs = cache.MappedInputs(path, 1, 5).part(1, 3)
    assert isinstance(inputs.array, np.memmap)
    assert len(pickle.dumps(inputs)) < 1000
    back = pickle.loads(pickle.dumps(inputs))
    np.testing.assert_array_equal(back.read(np.array([1, 0])), fakes.pixels(5, 16)[[3, 2]])
    assert len(back) == 2


def test_too_little_room_is_said(files, tmp_path, monkeypatch):
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(PencilError, match=r"set PENCIL_CACHE to another disk"):
        decoded(files, tmp_path / "cache")


def test_a_file_that_may_not_grow_names_the_limit(files, tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(PencilError, match=r"\.npy cannot be written: .*limit on file sizes.*ulimit -f"):
            decoded(files, tmp_path / "cache")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((tmp_path / "cache" / "images").iterdir()) == []


def test_other_pictures_of_the_same_names_sizes_and_times_are_not_taken_for_these(fakes, tmp_path):
    found = []
    for place in ("one", "other"):
        pixels = fakes.pixels(5, 16, seed=len(found))
        files = [fakes.save_image(tmp_path / place / f"{n}.bmp", image) for n, image in enumerate(pixels)]
        for file in files:
            os.utime(file, ns=(1, 1))
        path, _ = decoded(files, tmp_path / "cache")
        np.testing.assert_array_equal(np.load(path), pixels)
        found.append(path)
    copied = [shutil.copy2(file, tmp_path / f"{file.name}") for file in files]
    assert decoded([Path(file) for file in copied], tmp_path / "cache")[0] == found[1] != found[0]
