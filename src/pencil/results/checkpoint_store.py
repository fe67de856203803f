"""Checkpoints: a whole one is on disk at every moment, from the first save on.

Each is one file that says all of itself: its record is inside, its number and the checksum of its content are its
name. A damaged one is known by that, and the one before is used.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from pencil.errors import PencilError
from pencil.results.arrays import Arrays, read_arrays, read_note, write_arrays
from pencil.results.atomic import cannot_write, sweep, sync_folder
from pencil.results.documents import UNREADABLE, damaged, plain

KEEP = 2
"""The newest, and one to fall back on when a disk damages it."""
_NAME = re.compile(r"(\d{8,})-([0-9a-f]{64})\.safetensors")
_UNFINISHED = "unfinished.safetensors"


class Checkpoint(NamedTuple):
    """What a resume starts from."""

    tensors: Arrays
    meta: dict[str, Any]
    warnings: list[str]
    """One line for each newer checkpoint that was damaged and passed over."""


@dataclass(frozen=True)
class CheckpointStore:
    """The folder `checkpoint/` of a run."""

    path: Path
    passed_over: set[Path] = field(default_factory=set, compare=False)
    """Damaged ones that a load found; none is kept as a reserve."""

    def save(self, tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Path:
        """Add a checkpoint of named arrays and a JSON-able record; keep the newest two whole ones."""
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        before = self._files()
        unfinished = self.path / _UNFINISHED
        write_arrays(unfinished, tensors, note=json.dumps(plain(meta), allow_nan=False))
        number = 1 + max(before, default=0)
        file = self.path / f"{number:08d}-{_digest(unfinished)}.safetensors"
        try:
            os.replace(unfinished, file)
            sync_folder(self.path)
        except OSError as error:
            raise cannot_write(file, error) from error
        whole = [old for old in sorted(before) if before[old] not in self.passed_over]
        self._remove_all_but({file, *(before[old] for old in whole[-(KEEP - 1) :])})
        return file

    def load(self) -> Checkpoint:
        """Return the newest whole checkpoint."""
        if not self.exists():
            raise PencilError(f"{self.path.parent} has no checkpoint yet; start the run again with another --out.")
        warnings: list[str] = []
        for _, file in sorted(self._files().items(), reverse=True):
            if _digest(file) == file.stem.partition("-")[2]:
                return Checkpoint(read_arrays(file), _record(file), warnings)
            self.passed_over.add(file)
            warnings.append(f"{file} is damaged (its content is not what was written); an older checkpoint is used.")
        raise PencilError(f"{self.path} holds no whole checkpoint; start the run again with another --out.")

    def exists(self) -> bool:
        """Return whether anything was saved yet."""
        return bool(self._files())

    def _files(self) -> dict[int, Path]:
        found = ((_NAME.fullmatch(file.name), file) for file in self.path.glob("*.safetensors"))
        return {int(match[1]): file for match, file in found if match}

    def _remove_all_but(self, kept: set[Path]) -> None:
        sweep(self.path)
        for file in self.path.glob("*.safetensors"):
            if file not in kept:
                file.unlink(missing_ok=True)


def _record(file: Path) -> dict[str, Any]:
    try:
        record = json.loads(read_note(file))
    except UNREADABLE as error:
        raise damaged(file, error) from error
    if not isinstance(record, dict):
        raise damaged(file, "its record is no JSON object")
    return record


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""
