"""Runs beside each other on one GPU; MPS is a script that writes down what it is told."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pencil.run import queue
from pencil.run.queue import Job, run_jobs
from pencil.runtime import shared_gpu
from pencil.runtime.shared_gpu import LIMIT, VISIBLE

MPS = """#!/bin/sh
if [ "$1" = -d ]; then
    echo start >> {told}
    [ ! -e {on} ] && touch {on}
    exit
fi
read command number
case $command in
    get_server_list) echo 4711 ;;
    get_client_list) [ "$number" = 4711 ] && [ -e {clients} ] && cat {clients} ;;
    *) echo $command >> {told}; rm {on} ;;
esac
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put an MPS in the way that starts when told to, and refuses while it runs."""
    monkeypatch.delenv(LIMIT, raising=False)
    control, told = tmp_path / "bin/nvidia-cuda-mps-control", tmp_path / "told"
    control.parent.mkdir()
    control.write_text(MPS.format(told=told, on=tmp_path / "on", clients=tmp_path / "clients"))
    control.chmod(0o755)
    monkeypatch.setenv("PATH", str(control.parent), prepend=os.pathsep)
    return told


def script(path: Path, python: str) -> Path:
    """Write a program that does this whatever its arguments are."""
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{python}"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("runs", "limit"), [(2, "100"), (3, "50"), (4, "50"), (8, "25"), (300, "1")])
def test_runs_at_once_get_a_share_of_the_processors_each_and_mps_is_ended(told: Path, runs: int, limit: str) -> None:
    with shared_gpu(runs) as shared:
        assert told.read_text() == "start\n"
    assert shared == {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": limit}
    assert told.read_text() == "start\nquit\n"


def test_mps_that_others_use_meanwhile_stays_on(told: Path) -> None:
    with shared_gpu(4):
        (told.parent / "clients").write_text("81\n82\n")
    assert told.read_text() == "start\n" and (told.parent / "on").exists()


def test_one_run_has_the_gpu_to_itself(told: Path) -> None:
    with shared_gpu(1) as shared:
        assert shared == {}
    assert not told.exists()


def test_mps_that_was_on_stays_on_and_the_users_own_limit_counts(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "30")
    (told.parent / "on").touch()
    with shared_gpu(2) as shared:
        assert shared == {LIMIT: "30"}
    assert told.read_text() == "start\n"


def test_without_mps_nothing_is_limited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with shared_gpu(4) as shared:
        assert shared == {}


@pytest.mark.parametrize(("names", "limit"), [("abc", "50"), ("a", "none")])
def test_each_run_of_a_queue_finds_its_limit(
    names: str, limit: str, told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = f"import os; print(os.environ.get('{LIMIT}', 'none'))"
    monkeypatch.setattr(queue.sys, "executable", str(script(tmp_path / "python", reads)))
    jobs = [Job(name, tmp_path / "runs" / name, {}) for name in names]
    assert [outcome.state for outcome in run_jobs(jobs, parallel=3, tell=lambda _: None)] == ["finished"] * len(names)
    assert [job.log.read_text().strip() for job in jobs] == [limit] * len(names)


def test_runs_are_spread_over_gpus_and_limited_where_several_share_one(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = f"import os, time; time.sleep(1); print(*map(os.environ.get, ('{VISIBLE}', '{LIMIT}')))"
    monkeypatch.setattr(queue.sys, "executable", str(script(tmp_path / "python", reads)))
    monkeypatch.setenv(VISIBLE, "4,GPU-7f")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)

    def seen(documents: list[dict[str, Any]], name: str) -> list[str]:
        jobs = [Job(f"{name}{n}", tmp_path / f"{name}{n}", document) for n, document in enumerate(documents)]
        run_jobs(jobs, parallel=len(jobs), tell=lambda _: None)
        return [job.log.read_text().strip() for job in jobs]

    assert sorted(seen([{}, {"hardware": {"device": "auto"}}], "a")) == ["4 None", "GPU-7f None"]
    assert not told.exists()
    assert sorted(seen([{}] * 3, "b")) == ["4 100", "4 100", "GPU-7f 100"]
    assert seen([{"hardware": {"device": "cuda:1"}}] * 2, "c") == ["4,GPU-7f None"] * 2, "as it says"


def test_a_run_that_is_left_alone_by_finished_ones_is_not_limited(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [Job(name, tmp_path / name, {}) for name in "ab"]
    monkeypatch.setattr(queue, "state_of", lambda folder: "finished" if folder.name == "a" else None)
    monkeypatch.setattr(queue.sys, "executable", "/bin/true")
    assert [outcome.state for outcome in run_jobs(jobs, parallel=3, tell=lambda _: None)] == ["skipped", "finished"]
    assert not told.exists()


def test_a_folder_that_cannot_be_read_stops_no_other_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/status.json").write_text("{")
    monkeypatch.setattr(queue.sys, "executable", "/bin/true")
    jobs = [Job(name, tmp_path / name, {}) for name in "ab"]
    broken, sound = run_jobs(jobs, parallel=1, tell=lambda _: None)
    assert (broken.state, sound.state) == ("failed", "finished")
    assert "status.json" in broken.reason
