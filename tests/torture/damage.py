"""Flipped and cut bytes in every file of a run folder: a clear line, or an older checkpoint; never another result."""

import random
import shutil
from collections import Counter
from pathlib import Path

from . import process
from .runs import Kind, check_same, digits, stopped, unbroken

STOPPED = (Kind("pencil", "dense", "4,6,3"), Kind("pencil", "mapped", "4,6,3"))
FLIPS, CUTS = 4, 3


def run(seed: int, place: Path) -> Counter[str]:
    """Damage stopped runs and resume them; damage a finished run and read it in every way there is."""
    chance, data, counts = random.Random(seed), digits(place / "digits.npz"), Counter[str]()
    for kind in STOPPED:
        whole = unbroken(kind, data, place)
        half = stopped(kind, data, place, epochs=6)
        for file in _files(half):
            for number in range(FLIPS + CUTS):
                counts[_resume(half, file, number, whole, chance, place)] += 1
    _decide(whole)
    expected = _readings(whole, place, whole.name)
    for file in _files(whole):
        for number in range(FLIPS + CUTS):
            counts[_read(whole, file, number, expected, chance, place)] += 1
    return counts


def _files(run: Path) -> list[Path]:
    """Files of a run folder, but for what is only written and never read."""
    unread = ("lock", "report.html", "log.txt")
    files = (file.relative_to(run) for file in sorted(run.rglob("*")) if file.is_file())
    return [file for file in files if file.name not in unread and file.parts[0] != "pictures"]


def _damage(file: Path, number: int, chance: random.Random) -> bool:
    """Flip a bit or cut the file; say whether anything changed."""
    content = bytearray(file.read_bytes())
    if not content:
        return False
    if number < FLIPS:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    else:
        del content[(0, len(content) // 2, len(content) - 1)[number - FLIPS] :]
    file.write_bytes(content)
    return True


def _copy(run: Path, place: Path) -> Path:
    copy = place / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    return shutil.copytree(run, copy)


def _resume(run: Path, file: Path, number: int, whole: Path, chance: random.Random, place: Path) -> str:
    copy = _copy(run, place)
    if not _damage(copy / file, number, chance):
        return "empty"
    child = process.finish("train", "--resume", "--out", copy, log=place / "resume.log")
    if child.status == 0:
        check_same(copy, whole)
        return "recovered"
    assert child.status == 2, f"{file}: code {child.status}: {child.text()[-1500:]}"
    child.line()
    return "refused"


def _decide(run: Path) -> None:
    """Give a run decisions of people."""
    from pencil.results.decisions import Decisions
    from pencil.results.read import read_run

    names = read_run(run).labels["id"].to_pylist()[:20]
    with Decisions(run / "decisions.sqlite") as store:
        for number, name in enumerate(names):
            store.decide(name, number % 10, reviewer="me", key=f"key{number}")


def _readings(run: Path, place: Path, name: str) -> dict[str, bytes | None]:
    """Read a run by the commands that use it; what they give, None where they refuse."""
    found: dict[str, bytes | None] = {}
    commands: dict[str, tuple[object, ...]] = {
        "labels": ("labels", run, "--apply", "--out", place / "labels.csv"),
        "predict": ("predict", run, place / "digits.npz", "--out", place / "predict.csv"),
    }
    for word, arguments in commands.items():
        target = place / f"{word}.csv"
        target.unlink(missing_ok=True)
        child = process.finish(*arguments, log=place / f"{word}.log")
        if child.status == 0:
            found[word] = target.read_bytes() if target.exists() else b""
        else:
            assert child.status == 2, f"{name}: {word} ended with code {child.status}: {child.text()[-1500:]}"
            child.line()
            found[word] = None
    return found


def _read(
    run: Path, file: Path, number: int, expected: dict[str, bytes | None], chance: random.Random, place: Path
) -> str:
    copy = _copy(run, place)
    if not _damage(copy / file, number, chance):
        return "empty"
    found = _readings(copy, place, str(file))
    for word, content in found.items():
        assert content is None or content == expected[word], f"{file}: {word} gives something else"
    return "recovered" if None not in found.values() else "refused"
