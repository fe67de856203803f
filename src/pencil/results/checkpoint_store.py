"""Checkpoints: a complete one is on disk at every moment, from the first save on.

A save writes a new file beside the old ones, then a manifest that names it, then removes what the
manifest no longer names. Whatever kills the process, the manifest names whole files.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from pencil.errors import PencilError
from pencil.results.arrays import Arrays, read_arrays, write_arrays
from pencil.results.atomic import cannot_write, sweep
from pencil.results.documents import damaged, read_object, write_json

KEEP = 2
"""The newest, and one to fall back on when a disk damages it."""


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

    def save(self, tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Path:
        """Add a checkpoint of named arrays and a JSON-able record; keep the newest two."""
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        entries = self._entries() if self._manifest.exists() else []
        file = self.path / f"{_next_sequence(entries):08d}.safetensors"
        write_arrays(file, tensors)
        newest = {"file": file.name, "sha256": _digest(file), "size": file.stat().st_size, "meta": dict(meta)}
        entries = [newest, *entries][:KEEP]
        write_json(self._manifest, {"checkpoints": entries})
        self._remove_all_but({entry["file"] for entry in entries})
        return file

    def load(self) -> Checkpoint:
        """Return the newest whole checkpoint."""
        warnings: list[str] = []
        for entry in self._entries():
            fault = self._fault(entry)
            if fault is None:
                return Checkpoint(read_arrays(self.path / entry["file"]), entry["meta"], warnings)
            warnings.append(f"{self.path / entry['file']} is damaged ({fault}); an older checkpoint is used.")
        raise PencilError(f"{self.path} holds no whole checkpoint; start the run again with another --out.")

    def exists(self) -> bool:
        """Return whether anything was saved yet."""
        return self._manifest.exists()

    @property
    def _manifest(self) -> Path:
        return self.path / "manifest.json"

    def _entries(self) -> list[dict[str, Any]]:
        if not self._manifest.exists():
            raise PencilError(f"{self.path.parent} has no checkpoint yet; start the run again with another --out.")
        entries = read_object(self._manifest).get("checkpoints")
        if not isinstance(entries, list) or not all(_is_entry(entry) for entry in entries):
            raise damaged(self._manifest, "it lists no checkpoints")
        return entries

    def _fault(self, entry: dict[str, Any]) -> str | None:
        file = self.path / entry["file"]
        try:
            if file.stat().st_size != entry["size"]:
                return f"{file.stat().st_size} bytes instead of {entry['size']}"
            return None if _digest(file) == entry["sha256"] else "its content is not what was written"
        except OSError as error:
            return str(error.strerror)

    def _remove_all_but(self, names: set[str]) -> None:
        sweep(self.path)
        for file in self.path.glob("*.safetensors"):
            if file.name not in names:
                file.unlink(missing_ok=True)


def _is_entry(entry: Any) -> bool:
    kinds = {"file": str, "sha256": str, "size": int, "meta": dict}
    named = isinstance(entry, dict) and all(isinstance(entry.get(name), kind) for name, kind in kinds.items())
    # A manifest that comes from elsewhere must not lead out of its own folder.
    return named and Path(entry["file"]).name == entry["file"]


def _next_sequence(entries: list[dict[str, Any]]) -> int:
    # A file that no manifest names is the remains of a killed save: writing over it is right.
    return 1 + max((int(Path(entry["file"]).stem) for entry in entries), default=0)


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
