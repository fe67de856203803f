"""Processes that share a GPU take turns where they measure it: what others compute meanwhile would mislead them."""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

if sys.platform != "win32":
    import fcntl

PAUSE = 0.02


@contextlib.contextmanager
def turn(device: torch.device, patience: float = 60.0) -> Iterator[None]:
    """Wait until no other process of this user has its turn on the GPU; after so many seconds go on all the same."""
    with contextlib.ExitStack() as stack:
        if sys.platform != "win32":
            # Where no lock can be had, measurements are as good as they were without.
            with contextlib.suppress(OSError):
                file = stack.enter_context(_lock_file(device).open("a"))
                _wait(file.fileno(), time.monotonic() + patience)
        yield


def _lock_file(device: torch.device) -> Path:
    name = str(torch.cuda.get_device_properties(device).uuid) if device.type == "cuda" else device.type
    return Path(tempfile.gettempdir()) / f"pencil-{os.getuid()}-{name}.lock"


def _wait(handle: int, until: float) -> None:
    while True:
        try:
            # Closing the file gives it back, and so does the end of the process.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return
            time.sleep(PAUSE)
        else:
            return
