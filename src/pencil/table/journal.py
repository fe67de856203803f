"""A journal of old rows: whatever happens after a checkpoint can be undone exactly, without a copy of the table.

A record is written and synchronised before the rows it describes are overwritten. A torn last record belongs to
rows that were not touched yet, and is dropped.
"""

import os
import struct
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError

_START = struct.Struct("<8sQ")
_RECORD = struct.Struct("<QQI")
_MAGIC = b"pencilj1"


class Journal:
    """Old rows since the checkpoint of one generation, in a file that is only added to."""

    def __init__(self, path: Path, row: np.dtype[Any]) -> None:
        self.path, self.row = path, row
        self.handle = -1

    @property
    def is_open(self) -> bool:
        return self.handle >= 0

    def begin(self, generation: int) -> None:
        """Start an empty journal that belongs to a checkpoint; the one before is replaced as a whole."""
        self.close()
        fresh = self.path.with_suffix(".new")
        handle = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(handle, _START.pack(_MAGIC, generation))
        os.fsync(handle)
        os.replace(fresh, self.path)
        self.handle, self.let_go = handle, weakref.finalize(self, os.close, handle)

    def add(self, index: NDArray[np.int64], touched: NDArray[np.bool_], old: NDArray[Any]) -> None:
        """Write down rows as they are now; `old` has those that were ever written, the others are implicit."""
        body = index.astype("<i8").tobytes() + touched.astype(np.uint8).tobytes() + old.astype(self.row).tobytes()
        head = _RECORD.pack(len(index), int(touched.sum()), zlib.crc32(body))
        whole = os.lseek(self.handle, 0, os.SEEK_CUR)
        try:
            _write_all(self.handle, head + body)
            os.fdatasync(self.handle) if hasattr(os, "fdatasync") else os.fsync(self.handle)
        except OSError:
            # Later records may find room again; none of them would be found behind a torn one.
            os.ftruncate(self.handle, whole)
            os.lseek(self.handle, whole, os.SEEK_SET)
            raise

    def generation(self) -> int | None:
        """Return the checkpoint this journal belongs to, None where there is no journal."""
        if not self.path.exists():
            return None
        with self.path.open("rb") as file:
            start = file.read(_START.size)
        if len(start) < _START.size or not start.startswith(_MAGIC):
            raise PencilError(f"{self.path} is damaged: it is no journal; the run cannot be resumed.")
        return int(_START.unpack(start)[1])

    def records(self, classes: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[Any]]]:
        """Yield what was written down, first to last, up to a torn end."""
        with self.path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(_START.size)
            while len(head := file.read(_RECORD.size)) == _RECORD.size:
                count, rows, checksum = _RECORD.unpack(head)
                size = count * 9 + rows * classes * self.row.itemsize
                # A damaged length must not be believed: it could ask for more memory than there is.
                body = file.read(size) if size <= end - file.tell() else b""
                if len(body) < size or zlib.crc32(body) != checksum:
                    return
                index = np.frombuffer(body, "<i8", count)
                touched = np.frombuffer(body, np.uint8, count, count * 8).astype(bool)
                old = np.frombuffer(body, self.row, rows * classes, count * 9).reshape(rows, classes)
                yield index, touched, old

    def close(self) -> None:
        """Let go of the file."""
        if self.handle >= 0:
            self.let_go()
            self.handle = -1


def _write_all(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]
