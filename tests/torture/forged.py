"""A stranger's run folder, its files forged but with checksums that fit: a result or one clear line, and no harm."""

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import process
from .forged_arrays import arrays, checkpoints, tables
from .forged_files import documents, journals, links, precious_files, settings, unharmed
from .runs import Kind, digits, stopped, unbroken

KIND = Kind("pencil", "mapped", "2,3,2")
SECONDS = 60.0
"""A command that takes longer hangs."""


def run(seed: int, place: Path) -> Counter[str]:
    """Forge every file of a stopped and of a finished run, and use them."""
    chance, data = random.Random(seed), digits(place / "digits.npz", count=120)
    whole, half = unbroken(KIND, data, place), stopped(KIND, data, place, epochs=4)
    precious = precious_files(place)
    begun = [*checkpoints(half, chance), *settings(chance), *links(precious), *journals()]
    ended = [*arrays(whole, chance), *tables(chance), *documents(chance), *settings(chance), *links(precious)]
    tried = [(half, name, forge, [_resume]) for name, forge in begun]
    tried += [(whole, name, forge, chance.sample(COMMANDS, 3 if "link" in name else 1)) for name, forge in ended]
    counts, failed = Counter[str](), list[str]()
    for run, name, forge, commands in tried:
        try:
            counts[_use(run, name, forge, commands, place)] += 1
            assert unharmed(precious), f"{name} reached a file outside of the run folder"
        except AssertionError as error:
            failed.append(str(error))
    assert not failed, f"{len(failed)} of {len(tried)} forgeries got through:\n" + "\n".join(failed[:40])
    return counts


def _use(run: Path, name: str, forge: Callable[[Path], object], commands: list[Any], place: Path) -> str:
    copy = place / "forged"
    outcome = "read"
    for command in commands:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(run, copy)
        (copy / "checksums.json").unlink(missing_ok=True)
        forge(copy)
        arguments = command(copy, place)
        child = process.finish(*arguments, log=place / "forged.log", seconds=SECONDS, first=process.bound_memory)
        assert child.status in (0, 1, 2), f"{name}: {arguments[0]}: code {child.status}: {child.text()[-1500:]}"
        if child.status:
            child.line()
            outcome = "refused"
    return outcome


def _resume(run: Path, place: Path) -> tuple[object, ...]:
    return "train", "--resume", "--out", run


def _child(run: Path, place: Path) -> tuple[object, ...]:
    shutil.rmtree(place / "child", ignore_errors=True)
    return "train", "--from", run, "--out", place / "child", "--epochs", "0,1,0"


def _predict(run: Path, place: Path) -> tuple[object, ...]:
    return "predict", run, place / "digits.npz"


def _labels(run: Path, place: Path) -> tuple[object, ...]:
    return "labels", run, "--apply", "--out", place / "labels.csv"


def _report(run: Path, place: Path) -> tuple[object, ...]:
    return "report", run


def _export(run: Path, place: Path) -> tuple[object, ...]:
    (place / "exported").unlink(missing_ok=True)
    return "export", run, "--to", "csv", "--out", place / "exported"


def _runs(run: Path, place: Path) -> tuple[object, ...]:
    return "runs", run


COMMANDS = [_resume, _child, _predict, _labels, _report, _export, _runs]
