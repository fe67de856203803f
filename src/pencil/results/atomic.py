"""Files that are either the old one or the new one, whatever kills the process."""

import errno
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pencil.errors import TOO_LARGE, PencilError

Writer = Callable[[Path], object]
"""Writes a whole file at the path it is given."""

_FULL = (errno.ENOSPC, errno.EDQUOT)


def write_atomic(path: Path, content: bytes | Writer) -> None:
    """Put bytes, or what a writer writes, at `path` in one step: temporary file, fsync, rename, fsync of the folder."""
    # The process's number keeps two processes that write the same file (two reports, say) apart.
    # Absolute, since Arrow takes the start of a relative path like "noise:0.4/labels.parquet" for that of an address.
    temporary = path.absolute().with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write(temporary, content)
        os.replace(temporary, path)
        sync_folder(path.parent)
    except Exception as error:
        if isinstance(error, OSError) or _number(error):
            raise cannot_write(path, error) from error
        raise
    finally:
        with suppress(OSError):  # Where nothing may be written, nothing may be removed either.
            temporary.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove the temporary files that a killed process left in a folder."""
    # The second pattern is that of safetensors, which renames a temporary file of its own onto ours.
    for pattern in (".*.tmp", ".tmp??????"):
        for temporary in folder.glob(pattern):
            if not temporary.is_dir():  # One that an export fills, or did, is not in the way.
                temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames and removals in a folder durable."""
    if os.name == "nt":  # Windows has no handle of a folder to flush.
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network file systems have no fsync of folders; their renames are durable by themselves.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def cannot_write(path: Path, error: Exception) -> PencilError:
    """Return the line for a person when the operating system refused a write."""
    again = "and run the command again, a training with --resume"
    if _number(error) in _FULL:
        return PencilError(f"the disk is full, {path} could not be written: free space {again}.")
    if _number(error) == errno.EFBIG:
        return PencilError(f"{path} could not be written: {TOO_LARGE} {again}.")
    number = _number(error)
    return PencilError(f"{path} could not be written: {os.strerror(number) if number else error}.")


def _number(error: Exception) -> int | None:
    """Return the system's error number; libraries with a writer of their own hand it on only as text."""
    if isinstance(error, OSError):
        return error.errno
    found = re.search(r"(?:\(os error |Os \{ code: )(\d+)", str(error))
    return int(found[1]) if found else None


def _write(path: Path, content: bytes | Writer) -> None:
    # Some writers leave a file that only its owner may read; the mode of a plain new file is what a person expects.
    path.touch()
    mode = path.stat().st_mode & 0o777
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)
    with path.open("r+b") as file:
        os.fsync(file.fileno())
    path.chmod(mode)
