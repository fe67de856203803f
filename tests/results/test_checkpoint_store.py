"""From the first save on there is a whole checkpoint on disk, whatever happens."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pencil.errors import PencilError
from pencil.results.checkpoint_store import CheckpointStore

SAVE_FOREVER = """
import sys, itertools, pathlib
import numpy as np
from pencil.results.checkpoint_store import CheckpointStore
store = CheckpointStore(pathlib.Path(sys.argv[1]))
start = store.load().meta["step"] + 1 if store.exists() else 0
for step in itertools.count(start):
    store.save({"a": np.full(50_000, step, dtype=np.int64)}, {"step": step})
    print(step, flush=True)
"""


class Crash(BaseException):
    """Stands for the end of the process; nothing may catch and handle it."""


def save(store: CheckpointStore, step: int) -> None:
    store.save({"labels": np.full((4, 3), step, dtype=np.float32)}, {"step": step})


def loaded_step(store: CheckpointStore) -> int:
    tensors, meta, warnings = store.load()
    assert warnings == []
    assert np.array_equal(tensors["labels"], np.full((4, 3), meta["step"], dtype=np.float32))
    return int(meta["step"])


def files(store: CheckpointStore) -> list[str]:
    return sorted(path.name for path in store.path.iterdir())


def test_arrays_and_record_come_back_as_they_were(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "checkpoint")
    tensors = {
        "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "scalar": np.array(7, dtype=np.uint16),
        "empty": np.zeros((0, 5)),
        "flags": np.array([True, False]),
        "big endian": np.array([1.0, 2.0], dtype=">f4"),
        "bytes": np.frombuffer(b"state", dtype=np.uint8),
    }
    meta = {"epoch": 3, "bfloat16": ["scalar"], "nested": {"a": [1, 2]}}
    store.save(tensors, meta)
    loaded = store.load()
    assert loaded.meta == meta and loaded.warnings == []
    assert loaded.tensors.keys() == tensors.keys()
    for name, array in tensors.items():
        assert loaded.tensors[name].shape == array.shape
        assert np.array_equal(loaded.tensors[name], array)
        assert loaded.tensors[name].flags.writeable


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "checkpoint")
    assert not store.exists()
    for step in range(5):
        save(store, step)
        assert store.exists() and loaded_step(store) == step
    assert [name[:9] for name in files(store)] == ["00000004-", "00000005-"]
    for file in store.path.iterdir():
        assert file.name[9:-12] == hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("damage", ["flip", "flip the record", "cut", "empty"])
def test_a_damaged_newest_falls_back_with_a_warning(tmp_path: Path, damage: str) -> None:
    store = CheckpointStore(tmp_path / "checkpoint")
    save(store, 0)
    save(store, 1)
    newest = max(store.path.iterdir())
    content = bytearray(newest.read_bytes())
    content[content.index(b"step") + 8 if "record" in damage else -1] ^= 1
    newest.write_bytes({"cut": content[:-1], "empty": b""}.get(damage, content))
    tensors, meta, warnings = store.load()
    assert meta == {"step": 0} and np.array_equal(tensors["labels"], np.zeros((4, 3)))
    assert len(warnings) == 1 and f"{newest} is damaged" in warnings[0]
    save(store, 2)
    assert loaded_step(store) == 2
    max(store.path.iterdir()).write_bytes(b"")
    assert store.load().meta == {"step": 0}, "what was fallen back on stays in reserve, not what is damaged"
    assert len(files(store)) == 2


def test_no_whole_checkpoint_is_an_error(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "run" / "checkpoint")
    with pytest.raises(PencilError, match=r"run has no checkpoint yet"):
        store.load()
    with pytest.raises(PencilError, match=r"checkpoint could not be written: No such file"):
        save(store, 0)
    (tmp_path / "run").mkdir()
    save(store, 0)
    next(store.path.iterdir()).write_bytes(b"")
    with pytest.raises(PencilError, match=r"holds no whole checkpoint"):
        store.load()


def test_names_that_are_no_checkpoints_are_left_out(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "checkpoint")
    save(store, 0)
    for name in ("unfinished.safetensors", "00000009.safetensors", f"00000009-{'0' * 63}.safetensors"):
        (store.path / name).write_bytes(b"")
    assert loaded_step(store) == 0


def crash_at(patch: pytest.MonkeyPatch, call: int, *, after: bool) -> list[int]:
    """Make the call-th durable step of the process its last, before or after the step took place."""
    count = [0]

    def wrap(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def step(*arguments: object, **options: object) -> object:
            count[0] += 1
            if count[0] > call or (count[0] == call and not after):
                raise Crash
            result = real(*arguments, **options)
            if count[0] == call:
                raise Crash
            return result

        patch.setattr(owner, name, step)

    for name in ("replace", "fsync"):
        wrap(os, name)
    # Also stops the clean-up a killed process would not get to do.
    wrap(Path, "unlink")
    return count


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_step_of_a_save_leaves_a_whole_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    for call in range(1, 100):
        store = CheckpointStore(tmp_path / str(call))
        for step in range(3):
            save(store, step)
        with monkeypatch.context() as patch:
            crash_at(patch, call, after=after)
            try:
                save(store, 3)
            except Crash:
                crashed = True
            else:
                crashed = False
        assert loaded_step(store) in ((2, 3) if crashed else (3,))
        save(store, 4)
        assert loaded_step(store) == 4
        assert len(files(store)) == 2, "the remains of the crash are cleared away"
        if not crashed:
            assert call > 5  # A file to write, two renames, and the folder to make durable after each.
            return
    raise AssertionError("a save has no end")


def test_a_checkpoint_takes_its_name_by_one_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing with a checkpoint's name is ever half there."""
    store, renamed = CheckpointStore(tmp_path / "checkpoint"), []

    def replace(old: Path, new: Path, real: Callable[[Path, Path], None] = os.replace) -> None:
        if new.name.startswith("0"):
            assert not new.exists()
            renamed.append(new)
        real(old, new)

    monkeypatch.setattr(os, "replace", replace)
    save(store, 0)
    save(store, 1)
    assert sorted(renamed) == sorted(store.path.iterdir())


def test_a_full_disk_keeps_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CheckpointStore(tmp_path / "checkpoint")
    save(store, 0)

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(PencilError, match=r"the disk is full"):
            save(store, 1)
    assert loaded_step(store) == 0


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_process_killed_again_and_again_always_resumes(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "checkpoint")
    said = -1
    for attempt in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOREVER, str(store.path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.003 * attempt)  # Falls into a different step of the save each time.
        process.send_signal(signal.SIGKILL)
        said = max([said, *(int(line) for line in process.stdout.read().split())])
        process.wait()
        process.stdout.close()
        tensors, meta, warnings = store.load()
        assert warnings == [] and meta["step"] >= said
        assert np.array_equal(tensors["a"], np.full(50_000, meta["step"]))
