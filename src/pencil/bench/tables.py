"""What a table of labels in a file costs beside a network's step: millions of examples against a handful."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.bench.plain import synchronise
from pencil.bench.report import Report
from pencil.bench.runner import Runner
from pencil.bench.turns import Tell, take_turns
from pencil.data import Dataset
from pencil.data.dataset import Examples, Preparation
from pencil.runtime import device_name

POOL = 256


@dataclass(frozen=True, eq=False)
class RepeatedInputs:
    """Many examples that share a few images, so that only their labels take room."""

    pool: NDArray[np.uint8]
    count: int

    def __len__(self) -> int:
        return self.count

    def read(self, index: NDArray[np.int64]) -> NDArray[Any]:
        return self.pool[index % len(self.pool)]

    @property
    def array(self) -> None:
        return None


def run_tables(
    backbone: str, *, device: str, batch_size: int, examples: int, classes: int, side: int, seconds: float, tell: Tell
) -> Report:
    """Let label learning with the labels in a file take turns with the same from memory, on the same network."""
    settings = {"backbone": backbone, "optimizer": {"batch_size": batch_size}}
    runners: dict[str, Runner] = {}
    with tempfile.TemporaryDirectory(prefix="pencil-bench-") as folder:
        few = max(POOL, batch_size)
        for name, count, kind in (("labels in memory", few, "dense"), ("labels in a file", examples, "mapped")):
            tell(f"{name}: {count:,} × {classes:,} …")
            here = settings | {"hardware": {"device": device, "table": kind, "resident": "no"}}
            runners[name] = Runner(_dataset(count, classes, side), here, phase="labels", folder=Path(folder))
        options = f"--table --examples {examples} --classes {classes} --side {side} --batch-size {batch_size}"
        report = Report(backbone, device_name(runners["labels in a file"].machine.device), options)
        report.rates |= take_turns({name: runner.run for name, runner in runners.items()}, seconds, tell)
        report.rates["PENCIL label learning"] = report.rates["labels in a file"]
        report.ratios["labels in a file against memory"] = (
            report.rates["labels in a file"] / report.rates["labels in memory"]
        )
        report.seconds["one step"] = batch_size / report.rates["labels in memory"]
        report.seconds["start to first step"] = runners["labels in a file"].first_step
        table = runners["labels in a file"].engine.state.table
        table.settle()
        synchronise(runners["labels in a file"].machine.device)
        used = sum(path.stat().st_blocks * 512 for path in Path(folder).rglob("*") if path.is_file())
        report.megabytes["file of labels, on disk"] = used / 2**20
        report.megabytes["the same in memory"] = examples * classes * 4 / 2**20
        report.notes = [f"{examples:,} examples × {classes:,} classes, images of {side}×{side}"]
    return report


def _dataset(count: int, classes: int, side: int) -> Dataset:
    rng = np.random.default_rng(0)
    pool = rng.integers(0, 256, (POOL, side, side, 3), dtype=np.uint8)
    train = Examples(
        RepeatedInputs(pool, count), np.arange(count).astype("S9").astype(str), rng.integers(0, classes, count)
    )
    preparation = Preparation("images", (side, side, 3), mean=(127.5,) * 3, std=(73.6,) * 3)
    return Dataset("repeated", tuple(str(c) for c in range(classes)), train, preparation)
