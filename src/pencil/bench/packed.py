"""Several runs at once on one device, each a process of its own, as `pencil sweep --parallel` runs them."""

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from pencil.bench.power import condition
from pencil.bench.turns import take_turns
from pencil.errors import PencilError
from pencil.runtime import shared_gpu


class Worker:
    """A process that trains when told to."""

    def __init__(self, settings: dict[str, Any], examples: int, cache: Path, shared: Mapping[str, str]) -> None:
        self.started = time.perf_counter()
        self.errors = cache / f"{uuid.uuid4().hex}.log"
        asked = json.dumps({"settings": settings, "examples": examples})
        # Compiled code is kept where only these processes find it, so that the first of them truly compiles.
        kept = {"TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"), "TRITON_CACHE_DIR": str(cache / "triton")}
        source = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pencil.bench.worker", asked],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env={**os.environ, **kept, **shared, "PYTHONPATH": paths},
            )  # fmt: skip

    def wait_ready(self) -> float:
        """Wait for its first step and return the seconds since it was started."""
        while self._line() != "ready":
            pass
        return time.perf_counter() - self.started

    def ask(self, seconds: float) -> None:
        """Let it train for a while."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()

    def answer(self) -> float:
        """Return the images per second of what was asked last."""
        return float(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            said = self.errors.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
            raise PencilError(f"a process of the benchmark ended early: {said[-1]}")
        return line.strip()

    def stop(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.communicate()


@dataclass(frozen=True)
class Packed:
    """What was measured of processes."""

    started: dict[str, float]
    """Seconds to a first step, compiling and compiled before."""
    together: dict[int, float]
    """Images per second of all that train at once, by how many those are."""
    conditions: dict[int, str]
    """How the GPU was doing then, where that can be told."""

    @property
    def best(self) -> int:
        """How many at once train most images per second; the fewer of equals."""
        return max(self.together, key=self.together.__getitem__)


def numbers_at_once(parallel: int) -> list[int]:
    """Return 2, 4, 8 and so on, and last `parallel` itself."""
    return [*(2**n for n in range(1, parallel.bit_length()) if 2**n < parallel), parallel]


def start_and_pack(
    settings: dict[str, Any], *, examples: int, parallel: int, seconds: float, tell: Callable[[str], None]
) -> Packed:
    """Start a process afresh and again, then several sets of them up to `parallel`, and let these train in turns."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pencil-bench-"))
        # Each number has processes of its own, since what one may use of the GPU depends on how many there are.
        shares = {number: stack.enter_context(shared_gpu(number)) for number in numbers_at_once(parallel)}
        started: dict[str, float] = {}
        for name in ("process to first step, compiling", "process to first step, compiled before"):
            with _stopped([Worker(settings, examples, Path(folder), {})]) as [worker]:
                started[name] = worker.wait_ready()
        workers = dict[int, list[Worker]]()
        for number, share in shares.items():
            begun = [Worker(settings, examples, Path(folder), share) for _ in range(number)]
            workers[number] = stack.enter_context(_stopped(begun))
        for worker in chain.from_iterable(workers.values()):
            worker.wait_ready()
        seen = dict[int, str | None]()

        def run(number: int, seconds: float) -> float:
            rate, seen[number] = train_at_once(workers[number], seconds)
            return rate

        rates = take_turns({f"{number} at once": partial(run, number) for number in workers}, seconds, tell)
        conditions = {number: said for number, said in seen.items() if said}
        return Packed(started, dict(zip(workers, rates.values(), strict=True)), conditions)


def train_at_once(workers: Sequence[Worker], seconds: float) -> tuple[float, str | None]:
    """Let these train at the same time, the others waiting; return the sum of their rates, and how the GPU does it."""
    for worker in workers:
        worker.ask(seconds)
    time.sleep(seconds / 2)
    said = condition()
    return sum(worker.answer() for worker in workers), said


@contextmanager
def _stopped(workers: list[Worker]) -> Iterator[list[Worker]]:
    try:
        yield workers
    finally:
        for worker in workers:
            worker.stop()
