"""One writer at a time: an exclusive lock that the operating system releases when its holder dies."""

import errno
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pencil.errors import PencilError
from pencil.results.atomic import cannot_write

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
_held: set[int] = set()


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`, with this process's number and host in it; refuse when another holds it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        if not _try_lock(handle, path):
            raise _in_use(path)
        _write(handle, f"{os.getpid()} {socket.gethostname()}\n")
        _held.add(handle)
        yield
        # An emptied file says that its last holder ended in order.
        _write(handle, "")
    finally:
        _held.discard(handle)
        os.close(handle)


def is_held(path: Path) -> bool:
    """Say whether a living process holds the lock file at `path`; it is only looked at."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _try_lock(handle, path)
    finally:
        os.close(handle)


def refuse_held(path: Path) -> None:
    """Refuse where a living process holds the lock file at `path`."""
    if is_held(path):
        raise _in_use(path)


def _try_lock(handle: int, path: Path) -> bool:
    try:
        if sys.platform == "win32":
            # A locked byte cannot be read there: lock one far behind the text.
            os.lseek(handle, 1 << 30, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            return False
        # A cluster's file system without locks should not make training there impossible.
        warnings.warn(f"{path} cannot be locked on this file system; start no second run there.", stacklevel=4)
    return True


def _in_use(path: Path) -> PencilError:
    pid, _, host = path.read_text(encoding="utf-8", errors="replace").strip().partition(" ")
    holder = f"process {pid} on {host}" if pid else "another process"
    return PencilError(f"{path.parent} is in use by {holder}; wait for it to end, or stop it.")


def _write(handle: int, text: str) -> None:
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, text.encode())


def _drop_in_child() -> None:
    """Close a forked child's copies, so that a worker that outlives its parent does not keep the lock."""
    for handle in _held:
        with suppress(OSError):
            os.close(handle)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_in_child)
