"""Chooses the folder of a run for a user who names none, and says which it is."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pencil.cli.failure import one_line
from pencil.errors import PencilError


@contextmanager
def place_for(source: str | None, parent: Path | None) -> Iterator[Path]:
    """Take the next runs/<name>-<n>, named after the data or after the run that this one starts from."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise PencilError(
            "several processes write one run; name its folder for all of them with --out, e.g. --out run."
        )
    from pencil.run.place import claimed, name_after, name_for

    with claimed(name_after(parent) if parent and not source else name_for(source or "")) as path:
        one_line(f"the run goes to {path}")
        yield path
