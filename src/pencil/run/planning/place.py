"""Where a run goes when nobody says: runs/<name>-<n>, n one above the last."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pencil.config.own_code import MARK
from pencil.results.atomic import cannot_write

RUNS = Path("runs")
"""The folder of runs, in the folder that the command is started in."""
LONGEST = 60
"""Letters of a name that are kept."""


def name_for(source: str) -> str:
    """Return a name for runs on a source: `photos` of data/photos/, `rows` of rows.npz, `mine` of file.py:mine."""
    tail = source.rpartition(MARK)[2].rstrip("/\\")
    stem = Path(tail).stem if Path(tail).suffix and not Path(tail).is_dir() else Path(tail).name
    plain = re.sub(r"[^\w.-]+", "-", stem).strip("-.")[:LONGEST]
    return plain or "run"


def name_after(parent: str | Path) -> str:
    """Return a name for runs that start from another one: its own without the number."""
    return name_for(re.sub(r"-\d+$", "", Path(parent).resolve().name) + "/")


@contextmanager
def claimed(name: str, runs: Path = RUNS) -> Iterator[Path]:
    """Make the next folder of this name, for this process alone; one that nothing was written to goes again."""
    new = not runs.exists()
    path = _make_next(name, runs)
    try:
        yield path
    finally:
        with suppress(OSError):  # A folder that holds anything stays.
            path.rmdir()
            if new:
                runs.rmdir()


def _make_next(name: str, runs: Path) -> Path:
    try:
        runs.mkdir(exist_ok=True)
        while True:
            path = runs / f"{name}-{_last_number(name, runs) + 1}"
            with suppress(FileExistsError):  # Another process was faster.
                path.mkdir()
                return path
    except OSError as error:
        raise cannot_write(runs, error) from error


def _last_number(name: str, runs: Path) -> int:
    found = (re.fullmatch(rf"{re.escape(name)}-(\d+)", entry.name) for entry in runs.iterdir())
    return max((int(match[1]) for match in found if match), default=0)
