"""A disk that fills up while a run saves: one line, the checkpoint before it intact, and with room the same end."""

import os
import subprocess
from collections import Counter
from pathlib import Path

from . import process
from .runs import Kind, check_same, digits, unbroken, wait_for_epoch

KINDS = (Kind("pencil", "dense", "8,14,6"), Kind("pencil", "mapped", "8,14,6"), Kind("pencil", "top", "8,14,6"))


def run(seed: int, place: Path) -> Counter[str]:
    """Fill a small file system of its own under a running command."""
    data, disk = digits(place / "digits.npz"), place / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(disk)], check=False)
    if mounted.returncode:
        print("full_disk: skipped, as nothing can be mounted here (it needs root)")
        return Counter(skipped=1)
    counts = Counter[str]()
    try:
        for kind in KINDS:
            _fill(kind, data, disk, unbroken(kind, data, place), place)
            counts["filled"] += 1
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    return counts


def _fill(kind: Kind, data: Path, disk: Path, whole: Path, place: Path) -> None:
    from pencil.results.checkpoint_store import CheckpointStore

    out, filler = disk / kind.name, disk / "filler"
    child = process.start(*kind.arguments(data, out), log=place / f"{kind.name}-full.log")
    wait_for_epoch(out, 3, child)
    with filler.open("wb", buffering=0) as file:
        try:
            while child.running():
                file.write(bytes(4096))
        except OSError:
            pass
        assert child.end() == 2, f"code {child.status}: {child.text()[-500:]}"
    line = child.line()
    assert "disk is full" in line or "could not be written" in line, line
    checkpoint = CheckpointStore(out / "checkpoint").load()
    assert not checkpoint.warnings and checkpoint.meta["epoch"] >= 2, checkpoint.meta
    filler.unlink()
    resumed = process.finish("train", "--resume", "--out", out, log=place / f"{kind.name}-room.log")
    assert resumed.status == 0, resumed.text()
    check_same(out, whole)
    subprocess.run(["rm", "-rf", str(out)], check=True)
    os.sync()
