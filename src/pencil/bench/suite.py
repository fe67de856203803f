"""The benchmarks: pairs that take turns in one process, so that a noisy machine disturbs both alike."""

import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any

import torch

from pencil.bench.plain import PlainLoop
from pencil.bench.runner import Runner, random_images
from pencil.data import Dataset
from pencil.results.environment import environment
from pencil.runtime import device_name

ROUNDS = 3
Tell = Callable[[str], None]


@dataclass
class Report:
    """What was measured: rates in images per second, and how they compare."""

    backbone: str
    device: str
    rates: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    megabytes: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """Return the report as a record for reference/bench."""
        return {
            "study": "bench",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "backbone": self.backbone,
            "images_per_second": round(self.rates["PENCIL label learning"], 1),
            "rates": {name: round(rate, 1) for name, rate in self.rates.items()},
            "ratios": {name: round(ratio, 4) for name, ratio in self.ratios.items()},
            "seconds": {name: round(value, 2) for name, value in self.seconds.items()},
            "megabytes": {name: round(value, 1) for name, value in self.megabytes.items()},
            "notes": self.notes,
            "environment": environment({"device": self.device, "machine": platform.machine()}),
            "command": f"pencil bench --backbone {self.backbone}",
        }


def run_suite(backbone: str, *, device: str, batch_size: int, slice_seconds: float, tell: Tell) -> Report:
    """Measure everything that can be measured on this machine."""
    settings = {"backbone": backbone, "hardware": {"device": device}, "optimizer": {"batch_size": batch_size}}
    dataset = random_images(40 * batch_size, 10, 32)
    tell("building the engine …")
    labels = Runner(dataset, settings, phase="labels")
    report = Report(backbone, device_name(labels.machine.device), notes=list(dict.fromkeys(labels.notes)))
    report.seconds["start to first step"] = labels.first_step
    plainly = Runner(dataset, settings | {"method": "cross_entropy"}, phase="training")
    by_hand = _by_hand(dataset, labels)
    contest: dict[str, Callable[[float], float]] = {
        "PENCIL label learning": labels.run,
        "cross entropy": plainly.run,
        "plain loop, 32 bits": lambda seconds: by_hand.run(seconds, batch_size),
    }
    if labels.engine.steppers.captured:
        eager = settings | {"hardware": {"device": device, "compile": False}}
        contest["eager"] = Runner(dataset, eager, phase="labels").run
    report.rates |= take_turns(contest, slice_seconds, tell)
    _ratios(report)
    _sizes(report, settings, batch_size, slice_seconds, tell)
    if labels.machine.device.type == "cuda":
        report.megabytes["largest use of the GPU"] = torch.cuda.max_memory_allocated() / 2**20
    return report


def take_turns(contest: dict[str, Callable[[float], float]], seconds: float, tell: Tell) -> dict[str, float]:
    """Run all in turn, several times, and return each one's median rate."""
    measured: dict[str, list[float]] = {name: [] for name in contest}
    for turn in range(ROUNDS):
        for name, run in contest.items():
            measured[name].append(run(seconds))
        tell(f"round {turn + 1} of {ROUNDS}: " + ", ".join(f"{n} {r[-1]:,.0f}/s" for n, r in measured.items()))
    return {name: median(rates) for name, rates in measured.items()}


def _ratios(report: Report) -> None:
    rates = report.rates
    report.ratios["engine against plain loop"] = rates["PENCIL label learning"] / rates["plain loop, 32 bits"]
    report.ratios["label learning against cross entropy"] = rates["PENCIL label learning"] / rates["cross entropy"]
    if "eager" in rates:
        report.ratios["captured against eager"] = rates["PENCIL label learning"] / rates["eager"]


def _sizes(report: Report, settings: dict[str, Any], batch_size: int, seconds: float, tell: Tell) -> None:
    """Rates at other batch sizes, and with four times as many examples, on which a step must not depend."""
    for size in (batch_size // 4, batch_size * 4):
        runner = Runner(
            random_images(10 * size, 10, 32), settings | {"optimizer": {"batch_size": size}}, phase="labels"
        )
        report.rates[f"batches of {size}"] = runner.run(seconds)
    few, many = (Runner(random_images(n * batch_size, 10, 32), settings, phase="labels") for n in (20, 80))
    turns = take_turns({"few examples": few.run, "four times as many": many.run}, seconds / 2, tell)
    report.ratios["four times as many examples"] = turns["four times as many"] / turns["few examples"]


def _by_hand(dataset: Dataset, runner: Runner) -> PlainLoop:
    engine, device = runner.engine, runner.machine.device
    array = dataset.train.inputs.array
    assert array is not None
    given = torch.from_numpy(dataset.train.given).to(device)
    network = engine.new_network().to(device)
    return PlainLoop(network, engine.prepare, torch.from_numpy(array).to(device), given, dataset.num_classes)
