"""Two real processes over gloo give what one gives, survive a stop, and notice when the other one dies."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pencil.results.checkpoint_store import CheckpointStore
from pencil.results.read import read_run

from ..warm import LAUNCH, WarmProcess, free_port, warm_pair
from .conftest import Command

# Rates low enough that rounding does not grow: what is left of it then shows in the last digits only.
GENTLE = (
    "train", "digits", "--noise", "symmetric:0.4", "--backbone", "mlp", "--precision", "64-true", "--device", "cpu",
    "--epochs", "4,8,1", "--set", "label_step=1.0", "--set", "phases.labels.lr=0.01",
    "--set", "phases.tuning.lr=0.01", "--set", "hardware.threads=1",
)  # fmt: skip


Process = Callable[..., WarmProcess]


def _launched(*arguments: object) -> "subprocess.Popen[str]":
    launch = (sys.executable, "-m", "torch.distributed.run", *LAUNCH, "--master-port", free_port())
    return subprocess.Popen(
        [*launch, "-m", "pencil", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


@pytest.mark.slow
def test_two_processes_end_with_the_labels_and_the_table_of_one(pencil: Command, warm: Process, place: Path) -> None:
    assert pencil(*GENTLE, "--out", "one").code == 0
    out, _ = warm_pair(warm, *GENTLE, "--out", "two")
    assert out.count("run folder") == 1, "only the leading process speaks"

    one, two = read_run("one"), read_run("two")
    assert one.result["label_accuracy"]["corrected"] > one.result["label_accuracy"]["given"] + 20
    assert one.labels["corrected"].equals(two.labels["corrected"])
    for before, after in zip(one.history, two.history, strict=True):
        assert before["changed"] == after["changed"]
        assert before["loss"] == pytest.approx(after["loss"], abs=1e-9)
    alone, shared = (CheckpointStore(Path(name, "checkpoint")).load().tensors for name in ("one", "two"))
    for name in alone:
        if name.startswith(("table.", "model.")):
            assert np.allclose(alone[name], shared[name], rtol=0, atol=1e-9), name


@pytest.mark.slow
def test_a_dead_partner_is_noticed_and_the_pair_resumes(warm: Process, place: Path) -> None:
    pair = _launched(*GENTLE, "--epochs", "5,2,1", "--set", "hardware.checkpoint_seconds=0", "--out", "run")
    _wait_for(Path("run/history.jsonl"))
    children = Path(f"/proc/{pair.pid}/task/{pair.pid}/children")
    if not children.exists():
        pytest.skip("this system does not list a process's children")
    os.kill(int(children.read_text().split()[-1]), signal.SIGKILL)
    pair.communicate(timeout=100)
    assert pair.returncode != 0
    assert Path("run/result.json").exists() is False

    warm_pair(warm, "train", "--resume", "--out", "run")
    assert len(read_run("run").history) == 8


STOPPING = """
import os, signal
from pencil.cli import main
from pencil.run.training.session import Session

asked, stop_requested = 0, Session.stop_requested


def stopped_once(session):
    global asked
    asked += 1
    if asked == 19:
        os.kill(os.getpid(), signal.SIGTERM)
    return stop_requested(session)


Session.stop_requested = stopped_once
main()
"""
"""A training that is told to stop in the middle of its second epoch."""
NETWORK = """
from torch import nn

def make(spec, num_classes):
    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, num_classes))
"""


@pytest.mark.slow
def test_running_statistics_of_all_processes_survive_a_stop_within_an_epoch(
    warm: Process, warm_file: Process, place: Path
) -> None:
    (place / "net.py").write_text(NETWORK)
    (place / "stopping.py").write_text(STOPPING)
    asked = (*GENTLE, "--epochs", "3,0,0", "--set", "optimizer.batch_size=128", "--backbone", "net.py:make")
    warm_pair(warm, *asked, "--out", "whole")
    warm_pair(partial(warm_file, place / "stopping.py"), *asked, "--out", "cut", code=143)
    assert read_run("cut").folder.status().state == "stopped"
    assert len(Path("cut/history.jsonl").read_text().splitlines()) == 1, "within the second epoch"
    warm_pair(warm, *asked, "--resume", "--out", "cut")
    whole, cut = (CheckpointStore(Path(name, "checkpoint")).load().tensors for name in ("whole", "cut"))
    names = [name for name in whole if "running_" in name]
    assert len(names) >= 2
    for name in names:
        assert np.allclose(whole[name], cut[name], rtol=0, atol=1e-12), name


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or not path.read_text().count("\n"):
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.05)
