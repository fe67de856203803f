"""The run folder's layout, its state, and the lock that keeps a second writer out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pencil.errors import PencilError
from pencil.lines import is_unicode
from pencil.results.atomic import cannot_write, sweep
from pencil.results.documents import UPGRADE, damaged, read_object, write_json
from pencil.results.environment import pencil_version
from pencil.results.lock import exclusive
from pencil.results.plain_files import refuse_links
from pencil.results.seal import check_seal, seal, unseal

FORMAT = 1
"""Version of the layout; a reader refuses a newer one."""

State = Literal["running", "stopped", "finished"]
STATES = ("running", "stopped", "finished")


@dataclass(frozen=True, kw_only=True)
class Status:
    """What status.json says."""

    format: int
    state: State
    parent: str | None
    """The run this one was continued or repeated from."""
    pencil_version: str
    updated: str
    """Time of the last change of state, in UTC."""
    started_in: tuple[str, ...] = ()
    """The folder that relative paths of the settings start from: seen from the run folder, and on its disk."""


@dataclass(frozen=True)
class RunFolder:
    """One run on disk; a name for each of its files."""

    path: Path

    @staticmethod
    def check_free(path: str | Path) -> None:
        """Refuse a path where no new run folder can be made, before any work is done for it."""
        _refuse_occupied(Path(path))

    @classmethod
    def create(cls, path: str | Path, *, parent: str | None = None) -> RunFolder:
        """Make a new run folder at a path that does not exist yet or is an empty folder."""
        path = Path(path)
        _refuse_occupied(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from error
        folder = cls(path)
        begun = Status(format=FORMAT, state="running", parent=parent, pencil_version="", updated="")
        folder._write(replace(begun, started_in=_started_in(path)))
        return folder

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Open an existing run folder of a format this version can read."""
        folder = cls(Path(path))
        _refuse_odd_name(folder.path)
        if not folder.path.exists():
            raise PencilError(f"{path} does not exist; give the folder of a run.")
        if not folder.status_file.is_file():
            raise PencilError(f"{path} is not a run folder (it has no status.json).")
        refuse_links(folder.path)
        folder.status()
        check_seal(folder.path)
        return folder

    def status(self) -> Status:
        """Read status.json."""
        fields = read_object(self.status_file)
        version = fields.get("format")
        if not isinstance(version, int) or fields.get("state") not in STATES:
            raise damaged(self.status_file, "it names no format or no state")
        if version > FORMAT:
            raise PencilError(
                f"{self.path} was written by a newer pencil (format {version}; this one reads up to {FORMAT});"
                f" {UPGRADE}"
            )
        texts = {name: str(fields.get(name) or "") for name in ("pencil_version", "updated")}
        started = fields.get("started_in")
        places = tuple(place for place in started if isinstance(place, str)) if isinstance(started, list) else ()
        return Status(format=version, state=fields["state"], parent=fields.get("parent"), started_in=places, **texts)

    def homes(self) -> list[Path]:
        """Return the folders that the run may have been started in, first where it is if all was moved together."""
        here = self.path.resolve()
        return [Path(os.path.normpath(here / place)) for place in self.status().started_in]

    def set_state(self, state: State) -> None:
        """Record that the run goes on, was stopped, or is finished."""
        self._write(replace(self.status(), state=state))

    def _write(self, status: Status) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(self.status_file, asdict(replace(status, pencil_version=pencil_version(), updated=now)))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only writer of this folder for a while."""
        with exclusive(self.lock_file):
            sweep(self.path)
            yield

    def seal(self, *files: Path) -> None:
        """Note what files contain, now that they will not change any more."""
        seal(self.path, files)

    def unseal(self, *files: Path) -> None:
        """Note that files may change again."""
        unseal(self.path, files)

    @property
    def description(self) -> tuple[Path, ...]:
        """What a run knows of its data from the start on."""
        return self.classes, self.preprocessing, self.split

    @property
    def outcome(self) -> tuple[Path, ...]:
        """What a finished run leaves."""
        return self.history, self.labels, self.label_distributions, self.model, self.result

    @property
    def config(self) -> Path:
        return self.path / "config.toml"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def history(self) -> Path:
        return self.path / "history.jsonl"

    @property
    def labels(self) -> Path:
        return self.path / "labels.parquet"

    @property
    def label_distributions(self) -> Path:
        return self.path / "label_distributions.safetensors"

    @property
    def model(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def classes(self) -> Path:
        return self.path / "classes.json"

    @property
    def preprocessing(self) -> Path:
        return self.path / "preprocessing.json"

    @property
    def split(self) -> Path:
        return self.path / "split.json"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    @property
    def decisions(self) -> Path:
        return self.path / "decisions.sqlite"

    @property
    def final_labels(self) -> Path:
        return self.path / "final_labels.csv"

    @property
    def status_file(self) -> Path:
        return self.path / "status.json"

    @property
    def lock_file(self) -> Path:
        return self.path / "lock"

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def pictures(self) -> Path:
        return self.path / "pictures"


def _started_in(path: Path) -> tuple[str, ...]:
    here = Path.cwd()
    if not is_unicode(str(here)):  # JSON cannot hold it.
        return ()
    try:
        return os.path.relpath(here, path.resolve()), str(here)
    except ValueError:  # On Windows no path leads from one drive to another.
        return (str(here),)


def _refuse_odd_name(path: Path) -> None:
    """Refuse a place whose name, or that of a folder above it, neither JSON nor Parquet's writer can take."""
    if not is_unicode(str(path.absolute())):
        raise PencilError(f"the name of {str(path.absolute())!r} is not UTF-8; rename it, or give another folder.")


def _refuse_occupied(path: Path) -> None:
    _refuse_odd_name(path)
    if path.exists() and not path.is_dir():
        raise PencilError(f"{path} is a file; choose another --out.")
    if (path / "status.json").exists():
        raise PencilError(f"{path} already holds a run; choose another --out, or go on with --resume.")
    # Hidden files and a free lock stay behind when the making of a folder was interrupted; neither is ever overwritten.
    if path.is_dir() and any(not entry.name.startswith(".") and entry.name != "lock" for entry in path.iterdir()):
        raise PencilError(f"{path} already holds other files; choose another --out.")
