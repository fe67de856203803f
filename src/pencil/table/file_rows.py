"""Rows of numbers in a sparse file: those never written take no space, and nothing is lost when a process dies.

Shapes: N rows, B of a batch, C numbers in a row.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError
from pencil.table.journal import Journal


class FileRows:
    """[N, C] numbers on disk, of which only the written rows exist; changes since a checkpoint can be rolled back."""

    def __init__(self, folder: Path, count: int, classes: int, dtype: np.dtype[Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.classes, self.dtype = classes, dtype
        self.handle = os.open(folder / "label_logits.bin", os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(self.handle, count * classes * dtype.itemsize)
        self.map = np.memmap(folder / "label_logits.bin", dtype=dtype, mode="r+", shape=(count, classes))
        self.journal = Journal(folder / "journal.bin", dtype)
        self.touched = np.zeros(count, dtype=bool)
        """Rows that were ever written."""
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
        if not self.journal.is_open:
            self.begin(self.generation)
        new = index_B[~self.noted[index_B]]
        if len(new):
            old, touched = self.read(new)
            self.journal.add(new, touched, old[touched])
            self.noted[new] = True
        self.map[index_B] = rows_BC
        self.touched[index_B] = True

    def synchronise(self) -> None:
        """Make everything written so far survive a power cut."""
        self.map.flush()
        os.fsync(self.handle)

    def begin(self, generation: int) -> None:
        """Take the present state as that of a checkpoint: from here on it can be rolled back to."""
        self.journal.begin(generation)
        self.generation = generation
        self.noted[:] = False

    def roll_back(self, generation: int, touched_N: NDArray[np.bool_]) -> None:
        """Go back to the checkpoint of a generation, whose written rows were these."""
        found = self.journal.generation()
        if found is None or found > generation:
            raise PencilError("the label table on disk is newer than the checkpoint; the run cannot be resumed.")
        if found == generation:
            # Each row is noted once, so the order does not matter.
            for index, touched, old in self.journal.records(self.classes):
                self.map[index[touched]] = old
        self.touched[:] = touched_N
        self.synchronise()
        self.begin(generation)

    def close(self) -> None:
        """Let go of the files."""
        self.journal.close()
        os.close(self.handle)
