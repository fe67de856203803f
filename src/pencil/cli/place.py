"""Chooses the folder of a run for a user who names none, and says which it is."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pencil.cli.failure import one_line
from pencil.errors import PencilError

if TYPE_CHECKING:
    from pencil.run.session import Progress
    from pencil.types import Phase


@contextmanager
def place_for(source: str | None, parent: Path | None) -> Iterator[Path]:
    """Take the next runs/<name>-<n>, named after the data or after the run that this one starts from."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise PencilError(
            "several processes write one run; name its folder for all of them with --out, e.g. --out run."
        )
    from pencil.run.place import claimed, name_after, name_for

    with claimed(name_after(parent) if parent and not source else name_for(source or "")) as path:
        yield path


def announced(progress: "Progress", path: Path) -> "Progress":
    """Let a progress first of all say where the run goes, once there is one."""
    note, started = progress.note, progress.started

    def announce() -> None:
        progress.note, progress.started = note, started  # type: ignore[method-assign]
        one_line(f"the run goes to {path}")

    def first_note(line: str) -> None:
        if (path / "status.json").exists():
            announce()
        note(line)

    def begin(phases: "Sequence[Phase]", epoch: int) -> None:
        announce()
        started(phases, epoch)

    progress.note, progress.started = first_note, begin  # type: ignore[method-assign]
    return progress
