"""Rows of numbers in a sparse file: those never written take no space, and nothing is lost when a process dies.

Shapes: N rows, B of a batch, C numbers in a row.
"""

import errno
import os
import weakref
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.errors import TOO_LARGE, PencilError
from pencil.table.journal import Journal

_BLOCK = 4096
"""Rows that are checked at once."""


class FileRows:
    """[N, C] numbers on disk, of which only the written rows exist; changes since a checkpoint can be rolled back."""

    def __init__(self, folder: Path, count: int, classes: int, dtype: np.dtype[Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.classes, self.dtype, self.path = classes, dtype, folder / "label_logits.bin"
        self.handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        # A file that was removed takes its space until nobody holds it open.
        self.let_go = weakref.finalize(self, os.close, self.handle)
        os.ftruncate(self.handle, count * classes * dtype.itemsize)
        self.map = np.memmap(self.path, dtype=dtype, mode="r+", shape=(count, classes))
        self.journal = Journal(folder / "journal.bin", dtype)
        self.touched = np.zeros(count, dtype=bool)
        """Rows that were ever written."""
        self.checksums = np.zeros(count, dtype=np.int64)
        """Of the rows that were written, so that a damaged one is noticed after a checkpoint was restored."""
        self.generation = 0
        self.noted = np.zeros(count, dtype=bool)
        """Rows whose state at the last checkpoint is in the journal."""

    def read(self, index_B: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return rows and which of them exist; the others are zeros."""
        touched_B = self.touched[index_B]
        rows_BC = np.zeros((len(index_B), self.classes), dtype=self.dtype)
        rows_BC[touched_B] = self.map[index_B[touched_B]]
        return rows_BC, touched_B

    def write(self, index_B: NDArray[np.int64], rows_BC: NDArray[Any]) -> None:
        """Overwrite rows, once their old state is safely in the journal."""
        try:
            if not self.journal.is_open:
                self.begin(self.generation)
            new = index_B[~self.noted[index_B]]
            if len(new):
                old, touched = self.read(new)
                self.journal.add(new, touched, old[touched])
                self.noted[new] = True
            self._put(index_B, rows_BC)
        except OSError as error:
            why = TOO_LARGE if error.errno == errno.EFBIG else f"{error.strerror}; make room"
            raise PencilError(f"{self.path} could not be written: {why} and go on with --resume.") from error
        self.touched[index_B] = True
        self.checksums[index_B] = _checksums(np.ascontiguousarray(rows_BC, dtype=self.dtype))

    def _put(self, index_B: NDArray[np.int64], rows_BC: NDArray[Any]) -> None:
        # Not through the map: a full disk would kill the process there instead of refusing the write.
        for place, row in zip(index_B.tolist(), np.ascontiguousarray(rows_BC, dtype=self.dtype), strict=True):
            if os.pwrite(self.handle, row, place * row.nbytes) < row.nbytes:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def synchronise(self) -> None:
        """Make everything written so far survive a power cut."""
        self.map.flush()
        os.fsync(self.handle)

    def begin(self, generation: int) -> None:
        """Take the present state as that of a checkpoint: from here on it can be rolled back to."""
        self.journal.begin(generation)
        self.generation = generation
        self.noted[:] = False

    def roll_back(self, generation: int, touched_N: NDArray[np.bool_], checksums_N: NDArray[np.int64]) -> None:
        """Go back to the checkpoint of a generation, whose written rows and checksums were these."""
        found = self.journal.generation()
        # Killed between its first checkpoint and the journal for it, a run has not written a row yet.
        never = found is None and not touched_N.any()
        if not never and (found is None or found > generation):
            raise PencilError("the label table on disk is newer than the checkpoint; the run cannot be resumed.")
        if found == generation:
            # Each row is noted once, so the order does not matter.
            for index, touched, old in self.journal.records(self.classes):
                if touched.sum() != len(old) or ((index < 0) | (index >= len(self.touched))).any():
                    raise PencilError(f"{self.journal.path} is damaged: it names rows that there are none of.")
                self._put(index[touched], old)
        self.touched[:], self.checksums[:] = touched_N, checksums_N
        self._check()
        self.synchronise()
        self.begin(generation)

    def _check(self) -> None:
        """Refuse rows that are not what was written."""
        written = np.flatnonzero(self.touched)
        for block in np.array_split(written, -(-len(written) // _BLOCK) or 1):
            if not np.array_equal(_checksums(self.map[block]), self.checksums[block]):
                raise PencilError(
                    f"{self.path} is damaged: its rows are not those of the checkpoint; the run cannot be resumed;"
                    " start it again with another --out."
                )

    def close(self) -> None:
        """Let go of the files."""
        self.journal.close()
        self.let_go()


def _checksums(rows_BC: NDArray[Any]) -> NDArray[np.int64]:
    return np.fromiter((zlib.crc32(row) for row in rows_BC), np.int64, len(rows_BC))
