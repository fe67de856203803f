"""A file is the old one or the new one, never half of either."""

import errno
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError

from pencil.errors import PencilError
from pencil.results import arrays
from pencil.results.atomic import sweep, write_atomic


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_bytes_and_writers_replace_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomic(path, b"one")
    assert path.read_bytes() == b"one"
    write_atomic(path, lambda temporary: temporary.write_bytes(b"two"))
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    path = tmp_path / "a.txt"
    write_atomic(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(
        PencilError, match=r"the disk is full.*a.txt.*free space and run the command again, a training with resume=True"
    ):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.txt"]


def test_a_full_disk_under_a_writer_that_reports_it_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        # The words of safetensors 0.8 on a full file system.
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(arrays, "save_file", fail)
    with pytest.raises(PencilError, match=r"the disk is full"):
        arrays.write_arrays(tmp_path / "a.safetensors", {"a": np.zeros(3)})
    assert names(tmp_path) == []


def test_a_file_that_is_larger_than_allowed_names_the_limit(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(
            PencilError, match=r"a.txt could not be written: .* limit on file sizes.*ulimit -f.*resume=True"
        ):
            write_atomic(tmp_path / "a.txt", b"x" * 2000)
        with pytest.raises(PencilError, match=r"ulimit -f"):
            arrays.write_arrays(tmp_path / "a.safetensors", {"a": np.zeros(2000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert names(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a device that is always full")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    def write(temporary: Path) -> None:
        with open("/dev/full", "wb") as file:
            file.write(b"x" * 100_000)

    with pytest.raises(PencilError, match=r"the disk is full"):
        write_atomic(tmp_path / "a.txt", write)
    assert names(tmp_path) == []


def test_other_refusals_of_the_system_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=r"a.txt could not be written: No such file or directory"):
        write_atomic(tmp_path / "missing" / "a.txt", b"new")


def test_where_nothing_may_be_written_the_file_is_named_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    # A read-only disk refuses to remove a file too, even one that is not there.
    for call in ("touch", "unlink"):
        monkeypatch.setattr(Path, call, fail)
    with pytest.raises(PencilError, match=r"/a.txt could not be written: Read-only file system"):
        write_atomic(tmp_path / "a.txt", b"new")


def test_errors_that_are_not_the_systems_pass_through_and_leave_nothing(tmp_path: Path) -> None:
    def fail(temporary: Path) -> None:
        temporary.write_bytes(b"half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_atomic(tmp_path / "a.txt", fail)
    assert names(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_the_mode_is_that_of_a_plain_file_even_where_the_library_is_stricter(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    arrays.write_arrays(tmp_path / "a.safetensors", {"a": np.zeros(3)})
    mode = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert stat.S_IMODE((tmp_path / "a.safetensors").stat().st_mode) == mode


def test_sweep_removes_only_temporary_files(tmp_path: Path) -> None:
    for name in (".a.txt.123.tmp", ".tmpAb3xYz", "a.txt", ".hidden", "b.tmp"):
        (tmp_path / name).write_bytes(b"")
    sweep(tmp_path)
    assert names(tmp_path) == [".hidden", "a.txt", "b.tmp"]


def test_a_folder_that_a_killed_export_left_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / ".sorted.17.tmp").mkdir()
    (tmp_path / ".a.txt.17.tmp").write_text("half")
    sweep(tmp_path)
    assert names(tmp_path) == [".sorted.17.tmp"]
