"""Makes room for runs that are to be made again: a finished run goes only when the new one is finished."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pencil.results.folder import RunFolder
from pencil.results.lock import refuse_held
from pencil.run.queue import state_of


@contextmanager
def made_again(folders: Sequence[Path]) -> Iterator[None]:
    """Set finished runs aside; at the end, remove those that a new one replaces and put the others back."""
    for folder in folders:
        refuse_held(RunFolder(folder).lock_file)
    for folder in folders:
        if state_of(folder) == "finished":
            _remove(_aside(folder))
            folder.rename(_aside(folder))
    try:
        yield
    finally:
        for folder in folders:
            _end(folder)


def _end(folder: Path) -> None:
    aside = _aside(folder)
    if not aside.is_dir():
        return
    if state_of(folder) == "finished":
        _remove(aside)
    elif not folder.exists():
        aside.rename(folder)


def _aside(folder: Path) -> Path:
    """Where the run that is replaced lies meanwhile: hidden, on the same disk."""
    return folder.with_name(f".{folder.name}.replaced")


def _remove(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
