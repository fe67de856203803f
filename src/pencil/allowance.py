"""What this process may use of the machine: processors and memory, as far as a container or its user leaves them to it.

A container sees all of its host. Its limits stand in control groups, of version 2 in one tree, of version 1 in a tree
for each kind; they hold for all groups inside.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
UNLIMITED = 2**60
"""Limits from here on are none: version 1 writes the largest number of pages."""
UNKNOWN = 4 * 2**30
"""Memory where nothing tells of it."""


def processors() -> int:
    """Return how many processors this process may keep busy, at least one."""
    free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([free, *_quotas()])))


def memory() -> int:
    """Return how many bytes this process can still have."""
    found = [left for left in (_of_machine(), *_of_groups()) if left is not None]
    return max(0, min(found, default=UNKNOWN))


def _of_machine() -> int | None:
    for line in _read(ROOT / "proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable" and (kilobytes := _number(value.removesuffix("kB"))) is not None:
            return kilobytes * 1024
    return None


def _of_groups() -> Iterator[int]:
    """Yield what each group that limits memory has left; what is held of files there is given back when needed."""
    for folder, one in _groups("memory"):
        limit = _number(_read(folder / ("memory.limit_in_bytes" if one else "memory.max")))
        used = _number(_read(folder / ("memory.usage_in_bytes" if one else "memory.current")))
        if limit is None or used is None or limit >= UNLIMITED:
            continue
        held = ("total_inactive_file", "total_active_file") if one else ("inactive_file", "active_file")
        parts = (line.partition(" ") for line in _read(folder / "memory.stat").splitlines())
        yield limit - used + sum(_number(size) or 0 for name, _, size in parts if name in held)


def _quotas() -> Iterator[float]:
    """Yield how many processors each group that limits them may keep busy."""
    for folder, one in _groups("cpu"):
        if one:
            share, period = _number(_read(folder / "cpu.cfs_quota_us")), _number(_read(folder / "cpu.cfs_period_us"))
        else:
            share, period = map(_number, (*_read(folder / "cpu.max").split(), "", "")[:2])
        if share and period and share > 0:
            yield share / period


def _groups(kind: str) -> Iterator[tuple[Path, bool]]:
    """Yield the folders of this process's groups from the outermost in, and whether they are of version 1."""
    for line in _read(ROOT / "proc/self/cgroup").splitlines():
        _, kinds, path = (*line.split(":", 2), "", "")[:3]
        if kinds and kind not in kinds.split(","):
            continue
        trees = ROOT / "sys/fs/cgroup"
        # A tree of several kinds may be called in another order than here; each of its kinds leads there as well.
        top = trees / (kinds if not kinds or (trees / kinds).is_dir() else kind)
        names = [name for name in path.split("/") if name]
        for depth in range(len(names) + 1):
            # Seen from a container, its own group may be the top, whatever it is called outside.
            if (folder := top.joinpath(*names[:depth])).is_dir():
                yield folder, bool(kinds)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except (OSError, ValueError):
        return ""


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
