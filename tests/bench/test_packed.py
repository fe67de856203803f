"""Several runs at once, in real processes."""

import re
import subprocess
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import pytest

from pencil.bench import Report, power, suite
from pencil.bench.packed import Packed, Worker, numbers_at_once, start_and_pack
from pencil.errors import PencilError

from ..warm import WarmProcess

SETTINGS = {"backbone": "mlp", "hardware": {"device": "cpu", "threads": 1}, "optimizer": {"batch_size": 16}}


def silent(line: str) -> None:
    pass


@pytest.fixture
def one_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the first process as anyone does, and the others with their libraries loaded."""
    cold = iter([subprocess.Popen])
    known = SimpleNamespace(PIPE=subprocess.PIPE, Popen=lambda *args, **how: next(cold, WarmProcess)(*args, **how))
    monkeypatch.setattr("pencil.bench.packed.subprocess", known)


@pytest.mark.usefixtures("one_cold")
def test_each_number_has_processes_of_its_own_that_are_measured_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[tuple[int, float]] = []
    lines: list[str] = []
    answer = Worker.answer

    def heard(worker: Worker) -> float:
        answers.append((worker.process.pid, answer(worker)))
        return answers[-1][1]

    monkeypatch.setattr(Worker, "answer", heard)
    monkeypatch.setattr(power.shutil, "which", lambda _: None)
    packed = start_and_pack(SETTINGS, examples=64, parallel=3, seconds=0.1, tell=lines.append)
    assert len(packed.started) == 2 and all(seconds > 0 for seconds in packed.started.values())
    processes, rates = [process for process, _ in answers], [rate for _, rate in answers]
    # Two, three, and so for three rounds.
    assert processes == processes[:5] * 3 and len(set(processes)) == 5
    totals = [(sum(rates[i : i + 2]), sum(rates[i + 2 : i + 5])) for i in (0, 5, 10)]
    assert all(rate > 0 for rate in rates)
    assert packed.together == pytest.approx({2: median(t[0] for t in totals), 3: median(t[1] for t in totals)})
    assert packed.conditions == {}
    assert [re.sub(r" [\d.,]+/s", "", line) for line in lines] == [
        f"round {n} of 3: 2 at once, 3 at once" for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("parallel", "numbers"), [(1, [1]), (2, [2]), (3, [2, 3]), (8, [2, 4, 8]), (9, [2, 4, 8, 9]), (12, [2, 4, 8, 12])]
)
def test_numbers_double_up_to_the_one_asked_for(parallel: int, numbers: list[int]) -> None:
    assert numbers_at_once(parallel) == numbers


def test_a_single_number_stands_beside_one_run_alone() -> None:
    report = Report("mlp", rates={suite.LEARNING: 100.0})
    suite._best_number(report, Packed({}, {2: 93.0}, {2: "1,200 of 1,980 MHz, 700 of 700 W"}))
    assert report.notes == [
        "2 runs at once: 93 images per second together, 100 of one alone",
        "2 at once: 1,200 of 1,980 MHz, 700 of 700 W",
    ]


def test_the_best_number_is_told_and_extrapolated_from(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = Packed({"process to first step, compiling": 9.0}, {2: 150.0, 4: 240.0, 6: 240.0}, {})
    monkeypatch.setattr(suite, "start_and_pack", lambda *_, **__: packed)
    monkeypatch.setattr(suite, "full_run_seconds", lambda settings: 1000.0)
    report = Report("mlp", rates={suite.LEARNING: 100.0})
    assert suite._pack(report, SETTINGS, 16, 6, 0.1, silent) is packed
    suite._best_number(report, packed)
    assert report.notes == ["of 2, 4 and 6 runs at once 4 were best: 240 images per second together, 100 of one alone"]
    totals = {name: rate for name, rate in report.rates.items() if "at once" in name}
    assert totals == {f"{n} runs at once, together": packed.together[n] for n in (2, 4, 6)}
    suite._full_run(report, SETTINGS, packed, silent)
    # One of four trains 60 images a second, where one alone trains 100.
    assert report.seconds["the same as one of 4 at once"] == pytest.approx(1000 * 100 / 60)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("echo '1395, 1980, 698.91, 700.00'", "1,395 of 1,980 MHz, 699 of 700 W"),
        ("echo '210, 1980, 70.1, 700.0'; echo '1600, 1980, 500.6, 700.0'", "1,600 of 1,980 MHz, 501 of 700 W"),
        ("echo '[N/A], [N/A], 12, 15'", None),
        ("exit 9", None),
        ("true", None),
    ],
)
def test_how_a_gpu_is_doing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, expected: str | None) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{said}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert power.condition() == expected


def test_a_process_that_dies_is_named_with_its_last_words(tmp_path: Path) -> None:
    worker = Worker(SETTINGS | {"backbone": "mpl"}, 64, tmp_path, {})
    with pytest.raises(PencilError, match=r'ended early: .*no backbone "mpl"'):
        worker.wait_ready()
    worker.stop()
