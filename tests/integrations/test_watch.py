"""Figures of each epoch in TensorBoard and CSV, with the real tools; Weights & Biases by a stand-in for its logger."""

import csv
import importlib
import os
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import pencil
from pencil.cli import run as command
from pencil.errors import PencilError
from pencil.integrations.watch import watching
from pencil.results.read import read_run
from pencil.run.train import Interrupted
from pencil.run.training.session import Silent

QUICK = {"backbone": "mlp", "hardware": {"device": "cpu", "threads": 1, "checkpoint_seconds": 0.0}}
X, Y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2


class Interrupting(Silent):
    """Asks to stop after the second epoch."""

    def epoch_done(self, record: dict[str, Any]) -> None:
        if record["epoch"] == 1:
            os.kill(os.getpid(), signal.SIGINT)


def rows(run: Path) -> list[dict[str, str]]:
    with (run / "watch" / "csv" / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


def scalars(run: Path, name: str) -> list[tuple[int, float]]:
    read = EventAccumulator(str(run / "watch" / "tensorboard"))
    read.Reload()
    return [(event.step, event.value) for event in read.Scalars(name)]


def fit(run: Path, names: list[str], **more: Any) -> None:
    with watching(names, run, more.pop("progress", None)) as progress:
        pencil.fit(X, Y, out=run, settings=QUICK, epochs=(2, 2, 1), progress=progress, **more)


def check(run: Path) -> None:
    history = read_run(run).history
    assert [int(row["step"]) for row in rows(run)] == [0, 1, 2, 3, 4]
    assert [float(row["loss"]) for row in rows(run)] == [pytest.approx(record["loss"]) for record in history]
    assert scalars(run, "loss") == [(n, pytest.approx(record["loss"], rel=1e-5)) for n, record in enumerate(history)]
    part = "loss_parts/compatibility"
    assert [step for step, _ in scalars(run, part)] == [2, 3], "a part of the label phase alone"


def test_every_epoch_is_told_once(tmp_path: Path) -> None:
    fit(tmp_path / "run", ["csv", "tensorboard"])
    check(tmp_path / "run")


def test_a_resumed_run_has_every_epoch_once(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        fit(tmp_path / "run", ["csv", "tensorboard"], progress=Interrupting())
    assert len(rows(tmp_path / "run")) == 2
    with watching(["csv", "tensorboard"], tmp_path / "run") as progress:
        pencil.fit(X, Y, out=tmp_path / "run", resume=True, progress=progress)
    check(tmp_path / "run")


def test_of_several_processes_the_leading_one_alone_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one would remove what the leading one has written."""
    fit(tmp_path / "run", ["csv", "tensorboard"])
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    with watching(["csv", "tensorboard"], tmp_path / "run") as progress:
        progress.started((), 0)
    check(tmp_path / "run")


def test_a_tool_that_is_named_twice_is_told_once(tmp_path: Path) -> None:
    fit(tmp_path / "run", ["csv", "tensorboard", "csv"])
    check(tmp_path / "run")


def test_the_command_takes_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", x=X, y=Y)
    short = ["--epochs", "1,1,1", "--set", "hardware.threads=1", "--quiet"]
    assert command(["train", "data.npz", "--out", "run", "--watch", "csv,tensorboard", *short]) == 0
    assert len(rows(tmp_path / "run")) == len(scalars(tmp_path / "run", "loss")) == 3
    assert command(["train", "data.npz", "--out", "other", "--watch", "tensorbord", *short]) == 2
    assert not (tmp_path / "other").exists()


def test_a_missing_tool_is_named_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(PencilError, match=r"pip install pencil-labels\[tensorboard\]"):
        fit(tmp_path / "run", ["tensorboard"])
    assert not (tmp_path / "run").exists()


def test_weights_and_biases_goes_on_under_the_same_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("lightning.pytorch")
    told: list[Any] = []

    class WandbLogger:
        def __init__(self, **options: Any) -> None:
            told.append((options["name"], options["resume"], options["id"]))

        def log_metrics(self, metrics: dict[str, float], step: int) -> None:
            told.append((step, metrics["loss"]))

        def finalize(self, status: str) -> None:
            told.append(status)

    loggers: Any = ModuleType("lightning.pytorch.loggers")
    loggers.WandbLogger = WandbLogger
    monkeypatch.setitem(sys.modules, "wandb", ModuleType("wandb"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch.loggers", loggers)
    fit(tmp_path / "run", ["wandb"])
    losses = [(number, record["loss"]) for number, record in enumerate(read_run(tmp_path / "run").history)]
    name, resume, own = told[0]
    assert (name, resume, told[1:]) == ("run", "allow", [*losses, "success"])
    (tmp_path / "other").mkdir()
    fit(tmp_path / "other" / "run", ["wandb"])
    assert told[7][2] != own, "another folder of the same name is another run"
