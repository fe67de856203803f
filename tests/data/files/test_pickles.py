"""Pickles give data and nothing else."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from pencil.data.files.pickles import read_pickle
from pencil.errors import PencilError


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_and_plain_data_come_back(tmp_path, protocol, order):
    array = np.asarray(np.arange(12, dtype=np.int32).reshape(3, 4), order=order)
    content = {b"data": array, "names": ["a", "b"], "raw": b"\xff\x00", "big": np.arange(3, dtype=">u2")}
    (tmp_path / "p").write_bytes(pickle.dumps(content, protocol=protocol))
    found = read_pickle(tmp_path / "p")
    np.testing.assert_array_equal(found["data"], array)
    np.testing.assert_array_equal(found["big"], [0, 1, 2])
    assert found["names"] == ["a", "b"] and found["raw"] == b"\xff\x00"


def test_published_pickles_spell_numpy_the_old_way(fakes, tmp_path):
    fakes.old_pickle(tmp_path / "p", {"data": np.arange(5, dtype=np.uint8)})
    assert b"numpy.core.multiarray" in (tmp_path / "p").read_bytes()
    np.testing.assert_array_equal(read_pickle(tmp_path / "p")["data"], np.arange(5))


class _Call:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("function", [os.system, eval, exec, getattr, np.load, np.fromfile])
def test_code_is_refused_and_not_run(tmp_path, function):
    mark = tmp_path / "mark"
    (tmp_path / "p").write_bytes(pickle.dumps({"x": _Call(function, f"open({str(mark)!r}, 'w')")}))
    with pytest.raises(PencilError, match=r"it asks for"):
        read_pickle(tmp_path / "p")
    assert not mark.exists()


def test_arrays_of_objects_are_refused(tmp_path):
    (tmp_path / "p").write_bytes(pickle.dumps({"x": np.array([{}], dtype=object)}))
    with pytest.raises(PencilError, match=r"arrays of type O"):
        read_pickle(tmp_path / "p")


@pytest.mark.parametrize("content", [b"", b"not a pickle", pickle.dumps({"x": 1})[:-3], pickle.dumps([1])])
def test_damaged_files_are_named(tmp_path, content):
    (tmp_path / "batch").write_bytes(content)
    with pytest.raises(PencilError, match=r"batch .*download it again"):
        read_pickle(tmp_path / "batch")


def test_a_key_that_takes_for_ever_to_look_up_is_refused(tmp_path):
    nested = b"(t"
    for level in range(200):
        nested += b"q" + bytes([level]) + b"h" + bytes([level]) + b"\x86"
    (tmp_path / "p").write_bytes(b"\x80\x02}" + nested + b"K\x01s.")
    with pytest.raises(PencilError, match=r"a key that is neither text nor number"):
        read_pickle(tmp_path / "p")


def test_a_state_for_a_function_is_refused(tmp_path):
    from pencil.data.files import pickles

    before = pickles._encode.__defaults__
    # BUILD with (None, {"__defaults__": ("utf-8",)}) on what the file calls _codecs.encode.
    content = b"\x80\x02c_codecs\nencode\nN}X\x0c\x00\x00\x00__defaults__X\x05\x00\x00\x00utf-8\x85s\x86b."
    (tmp_path / "p").write_bytes(content)
    with pytest.raises(PencilError, match=r"a function with a state"):
        read_pickle(tmp_path / "p")
    assert pickles._encode.__defaults__ == before


@pytest.mark.parametrize(
    "instruction", [b"\x82\x01", b"i__builtin__\neval\n", b"o", b"\x81", b"\x92", b"P1\n", b"\x8f"]
)
def test_instructions_that_plain_data_does_not_need_are_refused(tmp_path, instruction):
    (tmp_path / "p").write_bytes(b"\x80\x04}(" + instruction + b".")
    with pytest.raises(PencilError, match=r"p is not a pickle of plain data"):
        read_pickle(tmp_path / "p")


def test_an_array_of_so_many_bytes_is_not_made(tmp_path: Path) -> None:
    """A number in the place of an array's content would become that many zeros."""
    size = (10 * 2**30).to_bytes(5, "little")
    array = b"cnumpy.core.numeric\n_frombuffer\n(\x8a\x05" + size + b"cnumpy\ndtype\nX\x02\0\0\0u1\x85RK\x01\x85tR"
    (tmp_path / "batch").write_bytes(b"\x80\x02}X\x04\0\0\0data" + array + b"s.")
    with pytest.raises(PencilError, match="an array without content"):
        read_pickle(tmp_path / "batch")
