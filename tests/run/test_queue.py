"""The queue of runs as processes."""

import os
import sys
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


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed by a signal there")
def test_a_run_that_was_killed_is_told_so_and_not_how_far_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = tmp_path / "python"
    training.write_text("#!/bin/sh\necho 'epoch 3/9: loss 0.5'\nkill -KILL $$\n")
    training.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(training))
    (outcome,) = run_jobs([Job("one", tmp_path / "one", {})], parallel=1, tell=lambda line: None)
    assert outcome.state == "failed"
    assert outcome.reason.startswith("it was killed (SIGKILL), as happens where memory runs out"), outcome
