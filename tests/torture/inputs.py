"""Mutated inputs over every reader: one clear line or a dataset; no traceback, no hang, bounded memory, no trace."""

import json
import os
import random
import signal
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from .bases import Base, bases
from .mutate import mutated
from .process import bound_memory

PER_READER = 560
WORKERS = 2
SECONDS = 20
"""A read that takes longer hangs."""


class Hangs(BaseException):
    """A read took too long."""


def run(seed: int, place: Path) -> Counter[str]:
    """Try all readers, in two processes that may not take more memory than they need."""
    logs = [place / f"worker{number}.json" for number in range(WORKERS)]
    workers = []
    for number, log in enumerate(logs):
        pid = os.fork()
        if not pid:
            _work(seed * WORKERS + number, place / f"place{number}", log)
        workers.append(pid)
    for pid, log in zip(workers, logs, strict=True):
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert code == 0, f"a reader ended the process ({code}): {log.read_text()[-3000:]}"
    total = Counter[str]()
    for log in logs:
        total.update(json.loads(log.read_text()))
    return total


def _work(seed: int, place: Path, log: Path) -> None:
    import traceback

    try:
        place.mkdir()
        warnings.simplefilter("ignore")
        log.write_text("starting")
        counts = try_all(seed, place, PER_READER // WORKERS, log=log, bounded=True)
        log.write_text(json.dumps(counts))
        os._exit(0)
    except BaseException:
        with log.open("a") as file:
            traceback.print_exc(file=file)
        os._exit(1)


def try_all(seed: int, place: Path, count: int, *, log: Path | None = None, bounded: bool = False) -> Counter[str]:
    """Try each reader on so many mutants; count what came of them."""
    inputs, cache = place / "inputs", place / "cache"
    inputs.mkdir()
    cache.mkdir()
    found = bases(inputs, cache)
    for base in found:
        base.read()
    if bounded:
        bound_memory()
    signal.signal(signal.SIGALRM, _hang)
    counts = Counter[str](readers=len(found)) if seed % WORKERS == 0 else Counter[str]()
    failed: list[str] = []
    for base in found:
        chance = random.Random(f"{seed} {base.name}")
        before = _listing(inputs)
        for number in range(count):
            if log is not None:
                log.write_text(f"{base.name} seed {seed} case {number}")
            try:
                counts[_try(base, chance, number)] += 1
            except AssertionError as error:
                failed.append(str(error))
            counts["cases"] += 1
        assert _listing(inputs) == before, f"{base.name} wrote into its data"
        left = [
            path for path in cache.rglob("*") if path.suffix in (".partial", ".tmp") or path.name[:2] in (".u", ".d")
        ]
        assert not left, f"{base.name} left {left}"
    assert not failed, f"{len(failed)} cases failed:\n" + "\n".join(failed[:40])
    return counts


def _try(base: Base, chance: random.Random, number: int) -> str:
    from pencil.errors import PencilError

    file = chance.choice(base.files)
    content, status = file.read_bytes(), file.stat()
    file.write_bytes(mutated(content, chance))
    signal.alarm(SECONDS)
    try:
        base.read()
        return "read"
    except PencilError as error:
        assert str(error), f"{base.name} case {number}: refused without a line"
        return "refused"
    except Exception as error:
        raise AssertionError(f"{base.name} case {number} ({file.name}): {type(error).__name__}: {error}") from error
    finally:
        signal.alarm(0)
        file.write_bytes(content)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def _hang(number: int, frame: Any) -> None:
    raise Hangs


def _listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
