"""A source is found by name, by path or in a user's file."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from pencil.config import DataSettings
from pencil.data import as_source, from_arrays, read
from pencil.data.label_file import relabel
from pencil.errors import PencilError


def test_the_path_decides_the_source(fakes, load_data, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.random.default_rng(0).normal(size=(10, 2)), y=[0, 1] * 5)
    (tmp_path / "t.csv").write_text("a,label\n" + "".join(f"{n},{'xy'[n % 2]}\n" for n in range(10)))
    fakes.image_folder(tmp_path / "photos")
    fakes.cifar10_binary(tmp_path / "cifar")
    names = [load_data(tmp_path / place).name for place in ("a.npz", "t.csv", "photos", "cifar")]
    assert names == ["a", "t", "photos", "cifar10"]


def test_a_source_of_the_users_own_with_options(load_data, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\nfrom pencil.data import from_arrays\n"
        "def rows(request):\n    n = request.options['count']\n"
        "    return from_arrays(np.arange(n, dtype=float)[:, None], np.arange(n) % 2)\n"
        "def wrong(request):\n    return [1, 2]\n"
    )
    assert len(load_data(f"{file}:rows", options={"count": 8}, held_out=0.0).train) == 8
    with pytest.raises(PencilError, match=r"gave a list; a source returns a Dataset"):
        load_data(f"{file}:wrong")


def test_what_does_not_exist_is_said_with_the_nearest_name(load_data):
    with pytest.raises(PencilError, match=r'no source, folder or file "digit". Did you mean "digits"'):
        load_data("digit")
    with pytest.raises(PencilError, match=r"no data is named"):
        load_data("")


@pytest.mark.parametrize("path", ["table.csv", "photos/", "a/digits", "digits.npz", "notes.txt"])
def test_what_looks_like_a_path_is_no_misspelt_name(load_data, path):
    with pytest.raises(PencilError, match=rf"{path} does not exist; give a folder, a file or a source's name\.$"):
        load_data(path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files there")
def test_a_pipe_or_a_device_is_there_but_is_no_file(load_data, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (os.devnull, tmp_path / "pipe.csv"):
        with pytest.raises(PencilError, match=rf"{path} is a pipe or a device, .* such as data\.csv, and give that"):
            load_data(path)
    rows = from_arrays(np.eye(4), [0, 1, 0, 1]).train
    with pytest.raises(PencilError, match=rf"{os.devnull} is a pipe or a device, .* such as labels\.csv"):
        relabel(rows, os.devnull, ("a", "b"))


def test_a_file_of_an_unknown_kind(load_data, tmp_path):
    (tmp_path / "notes.docx").write_text("")
    with pytest.raises(PencilError, match=r"no kind of file that is known"):
        load_data(tmp_path / "notes.docx")


def test_an_unknown_option_is_refused(load_data):
    with pytest.raises(PencilError, match=r'digits has no option "size"'):
        load_data("digits", options={"size": 3})


def test_a_named_source_reads_from_root(fakes, load_data, tmp_path):
    fakes.image_folder(tmp_path / "photos")
    assert load_data("image_folder", root=str(tmp_path / "photos")).class_names == ("cat", "dog")
    with pytest.raises(PencilError, match=r"image_folder needs a place to read from"):
        load_data("image_folder")
    with pytest.raises(PencilError, match=r"nowhere does not exist"):
        load_data("image_folder", root="nowhere")


def test_a_folder_beside_another_root_is_refused(fakes, load_data, tmp_path):
    fakes.image_folder(tmp_path / "photos")
    fakes.image_folder(tmp_path / "others")
    with pytest.raises(PencilError, match=r"photos is a folder of data itself; leave out root .*others\.$"):
        load_data(tmp_path / "photos", root=str(tmp_path / "others"))
    assert load_data(tmp_path / "photos", root=str(tmp_path / "photos")).name == "photos"


def test_a_root_that_nothing_is_read_from_is_refused_where_data_is_trained_on(load_data, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.random.default_rng(0).normal(size=(10, 2)), y=[0, 1] * 5)
    (tmp_path / "t.csv").write_text("a,label\n" + "".join(f"{n},{'xy'[n % 2]}\n" for n in range(10)))
    for source, why in {
        str(tmp_path / "a.npz"): "is a file of data itself",
        str(tmp_path / "t.csv"): "the table names no images",
        "digits": "inside the package",
        "hf:some/name": "what follows hf: is all that is read",
    }.items():
        with pytest.raises(PencilError, match=rf"root nowhere is of no use: .*{why}; leave it out\.$"):
            load_data(source, root="nowhere")
    assert len(load_data("npz", root=str(tmp_path / "a.npz"), held_out=0.0).train) == 10, "it names the file"
    again = DataSettings(source=str(tmp_path / "t.csv"), root="nowhere", options={"size": 64})
    assert len(read(again, labels_needed=False).train) == 10, "a run that has it can still be looked at"


def test_the_folder_of_a_run_is_not_taken_for_damaged_data(fakes, load_data, tmp_path):
    run = fakes.image_folder(tmp_path / "run")
    (run / "checkpoint").mkdir()
    for name in ("status.json", "config.toml", "checkpoint/1.safetensors"):
        (run / name).write_text("")
    with pytest.raises(PencilError, match=rf"run is the folder of a run, not of data.*pencil train --from {run}$"):
        load_data(run)


def test_a_path_that_is_called_as_a_source_is_stays_a_path():
    named = [as_source(place) for place in ("digits", Path("digits"), "./digits", Path("photos"), "photos/")]
    assert named == ["digits", "./digits", "./digits", "photos", "photos/"]
