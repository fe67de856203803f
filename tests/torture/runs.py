"""Small real runs, one for each kind of state that a kill could tear, and what their end must be."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import process

SAME_FILES = ("model.safetensors", "label_distributions.safetensors", "labels.parquet", "classes.json", "config.toml")
EXAMPLES, TRAINED_ON = 400, 360
"""Of the digits; a tenth is held out."""
TIMINGS = ("seconds", "images_per_second", "environment")


@dataclass(frozen=True)
class Kind:
    """One way to train."""

    method: str
    table: str
    epochs: str
    extra: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.method}-{self.table}"

    @property
    def moves_rows(self) -> bool:
        """Whether labels are overwritten in a file while it trains."""
        return self.table == "mapped" and self.method != "cross_entropy"

    def arguments(self, data: Path, out: Path) -> list[str]:
        settings = ("threads=1", "checkpoint_seconds=0", f"table={self.table}")
        told = [word for setting in settings for word in ("--set", f"hardware.{setting}")]
        how = ["--method", self.method, "--epochs", self.epochs, "--backbone", "mlp", "--device", "cpu"]
        sizes = ["--set", "optimizer.batch_size=32", "--set", "backbone_options.hidden=32"]
        return ["train", str(data), "--out", str(out), *how, *sizes, *told, *self.extra]


KINDS = (
    Kind("pencil", "dense", "4,6,3"),
    Kind("pencil", "mapped", "4,6,3"),
    Kind("pencil", "top", "4,6,3"),
    Kind("cross_entropy", "dense", "12"),
    Kind("cross_entropy", "mapped", "12"),
    Kind("joint_optimization", "dense", "4,5,4"),
    Kind("truncated_lq", "dense", "6,6"),
    Kind("forward_estimated", "dense", "5,6"),
    Kind("cnn_crf", "dense", "6,6", ("--noise", "symmetric:0.2", "--set", "data.trusted=0.1")),
    Kind("bootstrap_soft", "top", "12"),
)


def digits(path: Path, count: int = EXAMPLES) -> Path:
    """Write a slice of the digits, a third of the labels wrong."""
    from sklearn.datasets import load_digits

    loaded, rng = load_digits(), np.random.default_rng(0)
    x, clean = (loaded.data[:count] / 16).astype(np.float32), loaded.target[:count]
    y = np.where(rng.random(count) < 0.3, rng.integers(10, size=count), clean)
    arrays: dict[str, Any] = {"x": x, "y": y, "clean": clean}
    np.savez(path, **arrays, x_test=(loaded.data[-100:] / 16).astype(np.float32), y_test=loaded.target[-100:])
    return path


def unbroken(kind: Kind, data: Path, place: Path) -> Path:
    """Make the run that nothing happens to."""
    out = place / f"{kind.name}-unbroken"
    done = process.finish(*kind.arguments(data, out), log=out.with_suffix(".log"))
    assert done.status == 0, done.text()
    return out


def stopped(kind: Kind, data: Path, place: Path, epochs: int) -> Path:
    """Make a run that was killed after some epochs."""
    out = place / f"{kind.name}-stopped"
    child = process.start(*kind.arguments(data, out), log=place / "stopped.log")
    wait_for_epoch(out, epochs, child)
    assert child.kill(), "the run was over before it could be killed"
    return out


def wait_for_epoch(out: Path, epoch: int, child: process.Process) -> None:
    """Wait until a run's history has so many epochs."""
    history, limit = out / "history.jsonl", time.monotonic() + process.DEADLINE
    while not history.exists() or history.read_bytes().count(b"\n") < epoch:
        assert child.running() and time.monotonic() < limit, child.text()
        time.sleep(0.002)


def check_same(run: Path, whole: Path) -> None:
    """Require the weights, labels, history and summary of the unbroken run, to the bit but for timings."""
    for name in SAME_FILES:
        assert (run / name).read_bytes() == (whole / name).read_bytes(), f"{run / name} differs"
    assert history(run) == history(whole), f"{run}: another history"
    assert summary(run) == summary(whole), f"{run}: another result.json"


def history(run: Path) -> list[dict[str, Any]]:
    return [_untimed(json.loads(line)) for line in (run / "history.jsonl").read_text().splitlines()]


def summary(run: Path) -> dict[str, Any]:
    return _untimed(json.loads((run / "result.json").read_text()))


def _untimed(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in TIMINGS}
