"""The queue of runs as processes."""

import os
import signal
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from pencil.results.folder import RunFolder
from pencil.run.queue import Job, run_jobs


def test_a_run_that_another_process_trains_is_told_so_and_left_alone(tmp_path: Path) -> None:
    job, told = Job("one", tmp_path / "one", {}), list[str]()
    with RunFolder.create(job.folder).lock():
        # Whoever trains it writes into the same log.
        job.log.write_text("epoch 3/9: loss 0.5\n")
        (outcome,) = run_jobs([job], parallel=1, tell=told.append)
    reason = f"{job.folder} is in use by process {os.getpid()} on "
    assert outcome.state == "failed" and outcome.reason.startswith(reason), outcome
    assert len(told) == 1 and reason in told[0], "no second process was started"


def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str) -> None:
    """Let a few lines of shell stand for a training."""
    training = tmp_path / "python"
    training.write_text(f"#!/bin/sh\n{lines}")
    training.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(training))


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed by a signal there")
def test_a_run_that_was_killed_is_told_so_and_not_how_far_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(tmp_path, monkeypatch, "echo 'epoch 3/9: loss 0.5'\nkill -KILL $$\n")
    (outcome,) = run_jobs([Job("one", tmp_path / "one", {})], parallel=1, tell=lambda line: None)
    assert outcome.state == "failed"
    assert outcome.reason.startswith("it was killed (SIGKILL), as happens where memory runs out"), outcome


@pytest.mark.skipif(sys.platform == "win32", reason="the training is a shell's script")
def test_the_slower_of_two_that_begin_at_one_moment_is_told_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `train` says of a folder that holds a run already is for who gave it --out, not for a sweep's user."""
    pretend(tmp_path, monkeypatch, "echo 'pencil: one already holds a run; go on with --resume.'\nexit 2\n")
    job = Job("one", tmp_path / "one", {})
    with ExitStack() as other:

        def told(line: str) -> None:
            if "starting" in line:
                other.enter_context(RunFolder.create(job.folder).lock())

        (outcome,) = run_jobs([job], parallel=1, tell=told)
    assert outcome.state == "failed"
    assert outcome.reason == "another process runs it already; the same command, called again later, goes on."


@pytest.mark.skipif(sys.platform == "win32", reason="the training is a shell's script")
@pytest.mark.parametrize("late", [False, True])
def test_who_stops_the_queue_waits_for_its_runs_to_save(
    late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that begins at that moment is stopped as well: it would train on, with nobody to wait for it."""
    saving = "trap 'sleep 1; touch saved; exit 143' TERM\ntouch begun\nsleep 20 & wait\nsleep 20\n"
    pretend(tmp_path, monkeypatch, f"cd '{tmp_path}'\n{saving}")
    begun, ended = tmp_path / "begun", list[str]()

    def told(line: str) -> None:
        if "starting" not in line:
            ended.append(line)
        elif late:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
        else:
            threading.Thread(target=stop_when_begun).start()

    def stop_when_begun() -> None:
        while not begun.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_jobs([Job("one", tmp_path / "one", {})], parallel=1, tell=told)
    assert ended == ["one: stopped"]
    assert late or (tmp_path / "saved").exists()
