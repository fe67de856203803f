"""checksums.json: what the files of a run should contain, so that a damaged one is noticed before it is believed."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from pencil.results.documents import damaged, missing, read_object, write_json

NAME = "checksums.json"


def seal(folder: Path, files: Iterable[Path]) -> None:
    """Note what files of a run contain now, beside those noted before."""
    path = folder / NAME
    noted = read_object(path) if path.exists() else {}
    write_json(path, noted | {file.name: _digest(file) for file in files})


def unseal(folder: Path, files: Iterable[Path]) -> None:
    """Forget what files contain, before they are written again: a kill in between must not pass for damage."""
    path, names = folder / NAME, {file.name for file in files}
    if path.exists() and names & (noted := read_object(path)).keys():
        write_json(path, {name: digest for name, digest in noted.items() if name not in names})


def check_seal(folder: Path) -> None:
    """Refuse a run of which a noted file is missing or is no longer what was written."""
    path = folder / NAME
    if not path.exists():
        return
    for name, digest in read_object(path).items():
        file = folder / name
        if Path(name).name != name:
            raise damaged(path, "it names a file outside of the run folder")
        try:
            found = _digest(file)
        except FileNotFoundError:
            raise missing(file) from None
        except (OSError, ValueError) as error:  # The second for a name that no file can have.
            raise damaged(file, error) from error
        if found != digest:
            raise damaged(file, f"its content is not what {NAME} says")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
