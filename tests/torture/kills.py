"""Fifty SIGKILLs at random moments and some aimed ones; each run is resumed and must end as if nothing had happened."""

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from . import process
from .aim import aims
from .runs import KINDS, Kind, check_same, digits, unbroken

PER_KIND = 5
MOMENTS = ("step", "step", "checkpoint", "result", "report")


def run(seed: int, place: Path) -> Counter[str]:
    """Kill runs of every kind."""
    chance, data, counts = random.Random(seed), digits(place / "digits.npz"), Counter[str]()
    for kind in KINDS:
        began = time.monotonic()
        whole = unbroken(kind, data, place)
        seconds = time.monotonic() - began
        out = place / f"{kind.name}-killed"
        planned = [*chance.sample(MOMENTS[:3] * 3, PER_KIND - 2), "result", "report"]
        for number, moment in enumerate(planned):
            counts[moment] += _kill(kind, data, out, moment, chance, seconds, log=place / f"{kind.name}-{number}.log")
        _finish(kind, out, whole, place)
        counts["aimed"] += _kill_aimed(kind, data, out, chance, place)
        _finish(kind, out, whole, place)
        shutil.rmtree(whole)
    return counts


def _finish(kind: Kind, out: Path, whole: Path, place: Path) -> None:
    """Resume a run for the last time and look at what came of it."""
    last = process.finish("train", "--resume", "--out", out, log=place / f"{kind.name}-last.log")
    assert last.status == 0, last.text()
    check_same(out, whole)
    shutil.rmtree(out)


def _kill_aimed(kind: Kind, data: Path, out: Path, chance: random.Random, place: Path) -> int:
    """Start a run and resume it, each time killed where a file changes; return how often."""
    planned = aims(kind, chance)
    for aim in planned:
        how = ["train", "--resume", "--out", str(out)] if out.exists() else kind.arguments(data, out)
        child = process.start(*how, log=place / f"{kind.name}-aimed.log", first=aim.take)
        assert child.end() == -signal.SIGKILL, f"{kind.name} was to be killed at {aim}: {child.text()[-1000:]}"
    return len(planned)


def _kill(kind: Kind, data: Path, out: Path, moment: str, chance: random.Random, seconds: float, *, log: Path) -> int:
    """Start or resume a run and kill it; return 1 once it was killed in its work."""
    while True:
        # A run that was killed before it had written its settings is started again, as its line says.
        begun = (out / "checkpoint").is_dir()
        if out.exists() and not begun:
            shutil.rmtree(out)
        how = ["train", "--resume", "--out", str(out)] if begun else kind.arguments(data, out)
        child = process.start(*how, log=log)
        _wait(child, moment, out, chance, seconds)
        if child.kill():
            return 1
        assert child.status == 0, child.text()
        if (out / "result.json").exists():
            # It was faster than the plan: kill the next one, a run from the start.
            shutil.rmtree(out)


def _wait(child: process.Process, moment: str, out: Path, chance: random.Random, seconds: float) -> None:
    """Wait for a kind of moment: any time of training, or while a certain file is being written."""
    if moment == "step":
        time.sleep(chance.uniform(0.0, 0.6 * seconds))
        return
    ready = WRITING[moment]
    if moment == "checkpoint":
        time.sleep(chance.uniform(0.0, 0.4 * seconds))
    while child.running() and not ready(out):
        time.sleep(0.0005)
    time.sleep(chance.choice((0.0, 0.001, 0.01)) if moment != "report" else chance.uniform(0.0, 0.8))


def _checkpoint(out: Path) -> bool:
    return any((out / "checkpoint").glob(".unfinished*"))


def _result(out: Path) -> bool:
    return (out / "labels.parquet").exists() or any(out.glob(".labels.parquet*"))


def _report(out: Path) -> bool:
    return (out / "result.json").exists()


WRITING: dict[str, Callable[[Path], bool]] = {"checkpoint": _checkpoint, "result": _result, "report": _report}
