"""Chooses the folder of a run for a user who names none, and says which it is."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pencil.cli.failure import one_line
from pencil.errors import PencilError

if TYPE_CHECKING:
    from pencil.run.training.session import Progress
    from pencil.types import Phase


@contextmanager
def place_for(source: str | None, parent: Path | None) -> Iterator[Path]:
    """Take the next runs/<name>-<n>, named after the data or after the run that this one starts from."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise PencilError(
            "several processes write one run; name its folder for all of them with --out, e.g. --out run."
        )
    from pencil.run.planning.place import claimed, name_after, name_for

    with claimed(name_after(parent) if parent and not source else name_for(source or "")) as path:
        yield path


class Announced:
    """A progress that first of all says where the run goes, once there is one; the rest it hands on."""

    def __init__(self, progress: "Progress", path: Path) -> None:
        self.path, self.said = path, False
        self.stepped, self.epoch_done, self.replanned = progress.stepped, progress.epoch_done, progress.replanned
        self._note, self._started = progress.note, progress.started

    def note(self, line: str) -> None:
        if (self.path / "status.json").exists():
            self._say()
        self._note(line)

    def started(self, phases: "Sequence[Phase]", epoch: int) -> None:
        self._say()
        self._started(phases, epoch)

    def _say(self) -> None:
        if not self.said:
            one_line(f"the run goes to {self.path}")
        self.said = True
