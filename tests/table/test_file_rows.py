"""Rows in a sparse file, and the journal that undoes what came after a checkpoint."""

import errno
import gc
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pencil.errors import PencilError
from pencil.table.file_rows import FileRows

FLOAT = np.dtype(np.float32)


def _rows(folder: Path, count: int = 50) -> FileRows:
    return FileRows(folder, count, 7, FLOAT)


def _random(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 7)).astype(FLOAT)


def _state(rows: FileRows) -> tuple[np.ndarray, np.ndarray]:
    """What a checkpoint keeps of the file."""
    return rows.touched.copy(), rows.checksums.copy()


def test_rows_come_back_and_the_others_do_not_exist(tmp_path: Path) -> None:
    rows, index, values = _rows(tmp_path), np.array([3, 40, 7]), _random(0, 3)
    rows.write(index, values)
    found, touched = rows.read(np.array([40, 0, 7]))
    assert np.array_equal(found, [values[1], np.zeros(7), values[2]])
    assert touched.tolist() == [True, False, True]


def test_ten_million_rows_of_a_thousand_take_the_space_of_those_written(tmp_path: Path) -> None:
    rows = FileRows(tmp_path, 10_000_000, 1000, FLOAT)
    rows.write(np.arange(0, 10_000_000, 100_000), np.ones((100, 1000), FLOAT))
    rows.synchronise()
    status = os.stat(tmp_path / "label_logits.bin")
    assert status.st_size == 40_000_000_000
    assert status.st_blocks * 512 < 4_000_000


def test_old_rows_are_on_the_disk_before_they_are_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut may lose whatever was not synchronised, in any order."""
    rows, done = _rows(tmp_path), []
    rows.begin(1)
    journal = rows.journal.handle

    def noting(name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def note(handle: int, *rest: object) -> object:
            done.append(f"{name} {'journal' if handle == journal else 'rows'}")
            return real(handle, *rest)

        return note

    for name in ("write", "fdatasync", "fsync", "pwrite"):
        monkeypatch.setattr(os, name, noting(name))
    rows.write(np.array([3, 4]), _random(1, 2))
    assert [step.replace("fdatasync", "fsync") for step in done] == [
        "write journal", "fsync journal", "pwrite rows", "pwrite rows",
    ]  # fmt: skip


@pytest.mark.parametrize("place", [50, 10**12, -1])
def test_a_forged_journal_is_refused(tmp_path: Path, place: int) -> None:
    rows = _rows(tmp_path)
    state = _state(rows)
    rows.begin(1)
    rows.journal.add(np.array([place]), np.array([True]), _random(0, 1))
    rows.close()
    with pytest.raises(PencilError, match=r"journal.bin is damaged"):
        _rows(tmp_path).roll_back(1, *state)


@pytest.mark.parametrize("torn", [0, 5, 40])
def test_a_crash_rolls_back_to_the_checkpoint(tmp_path: Path, torn: int) -> None:
    rows = _rows(tmp_path)
    rows.write(np.arange(20), _random(1, 20))
    rows.synchronise()
    before, state = np.array(rows.map), _state(rows)
    rows.begin(1)
    for turn in range(3):
        rows.write(np.arange(10 * turn, 10 * turn + 10), _random(2 + turn, 10))
    rows.write(np.arange(5), _random(9, 5))
    rows.close()
    if torn:
        # The rows of a record that is not whole were not overwritten yet.
        with (tmp_path / "journal.bin").open("ab") as journal:
            journal.write(bytes(torn))

    again = _rows(tmp_path)
    again.roll_back(1, *state)
    assert np.array_equal(again.map[:20], before[:20])
    found, exists = again.read(np.arange(50))
    assert np.array_equal(exists, state[0])
    assert np.array_equal(found[20:], np.zeros((30, 7)))


def test_rolling_back_twice_is_rolling_back_once(tmp_path: Path) -> None:
    rows = _rows(tmp_path)
    rows.write(np.arange(9), _random(1, 9))
    before, state = np.array(rows.map), _state(rows)
    rows.begin(4)
    rows.write(np.arange(6), _random(2, 6))
    for _ in range(2):
        rows.close()
        rows = _rows(tmp_path)
        rows.roll_back(4, *state)
        assert np.array_equal(rows.map, before)


def test_a_journal_of_the_checkpoint_before_is_of_no_use_any_more(tmp_path: Path) -> None:
    """Killed between a checkpoint and the start of its journal: the file is as the checkpoint has it."""
    rows = _rows(tmp_path)
    rows.begin(1)
    rows.write(np.arange(9), _random(1, 9))
    present, state = np.array(rows.map), _state(rows)
    rows.close()
    again = _rows(tmp_path)
    again.roll_back(2, *state)
    assert np.array_equal(again.map, present)


def test_an_older_checkpoint_than_the_file_is_refused(tmp_path: Path) -> None:
    rows = _rows(tmp_path)
    rows.begin(3)
    rows.close()
    with pytest.raises(PencilError, match="newer than the checkpoint"):
        _rows(tmp_path).roll_back(2, *_state(_rows(tmp_path / "empty")))
    (tmp_path / "journal.bin").write_bytes(b"rubbish")
    with pytest.raises(PencilError, match="is damaged: it is no journal"):
        _rows(tmp_path).roll_back(2, *_state(_rows(tmp_path / "empty")))


@pytest.mark.parametrize("damage", ["flip", "cut", "flipped journal"])
def test_rows_that_a_disk_damaged_are_refused(tmp_path: Path, damage: str) -> None:
    rows = _rows(tmp_path)
    rows.write(np.arange(20), _random(1, 20))
    state = _state(rows)
    rows.begin(1)
    rows.write(np.arange(9), _random(2, 9))
    rows.close()
    file = tmp_path / ("journal.bin" if "journal" in damage else "label_logits.bin")
    content = bytearray(file.read_bytes())
    content[300] ^= 4
    file.write_bytes(content[:300] if damage == "cut" else content)
    with pytest.raises(PencilError, match=r"label_logits.bin is damaged.*cannot be resumed"):
        _rows(tmp_path).roll_back(1, *state)


def test_a_damaged_length_in_the_journal_takes_no_memory(tmp_path: Path) -> None:
    rows = _rows(tmp_path)
    rows.begin(1)
    rows.write(np.arange(9), _random(2, 9))
    rows.close()
    journal = tmp_path / "journal.bin"
    content = bytearray(journal.read_bytes())
    content[16:24] = (2**60).to_bytes(8, "little")
    journal.write_bytes(content)
    assert list(_rows(tmp_path).journal.records(7)) == []


def test_a_file_that_may_not_grow_names_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    rows = _rows(tmp_path)
    monkeypatch.setattr(os, "pwrite", refuse)
    with pytest.raises(PencilError, match=r"could not be written: .*limit on file sizes.*ulimit -f.* resume=True"):
        rows.write(np.array([3]), _random(0, 1))


def test_rows_written_after_a_write_that_failed_can_be_rolled_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes wait in a queue: where one finds the disk full, room may be there again for the next."""
    rows, whole = _rows(tmp_path), os.write
    rows.write(np.arange(50), _random(0, 50))
    rows.begin(1)
    before, state = rows.read(np.arange(50))[0], _state(rows)
    torn = iter([lambda handle, content: whole(handle, bytes(content)[:10]), _full])
    monkeypatch.setattr(os, "write", lambda handle, content: next(torn, whole)(handle, content))
    with pytest.raises(PencilError, match="make room"):
        rows.write(np.array([0, 1]), _random(1, 2))
    rows.write(np.array([1, 2]), _random(2, 2))
    rows.close()

    again = _rows(tmp_path)
    again.roll_back(1, *state)
    assert np.array_equal(again.read(np.arange(50))[0], before)


def _full(handle: int, content: bytes) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_process_that_died_between_its_first_checkpoint_and_the_journal_goes_on(tmp_path: Path) -> None:
    rows = _rows(tmp_path)
    state = _state(rows)
    rows.close()
    again = _rows(tmp_path)
    again.roll_back(1, *state)
    again.write(np.array([3]), _random(0, 1))
    again.roll_back(1, *state)
    assert not again.read(np.array([3]))[1].any()


def test_the_files_are_let_go_with_the_rows(tmp_path: Path) -> None:
    rows = _rows(tmp_path)
    rows.write(np.arange(3), _random(0, 3))
    handles = rows.handle, rows.journal.handle
    del rows
    gc.collect()
    for handle in handles:
        with pytest.raises(OSError):
            os.fstat(handle)
