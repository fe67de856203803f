"""The benchmarks: pairs that take turns in one process, so that a noisy machine disturbs both alike."""

import sys
from collections.abc import Callable
from typing import Any

import torch

from pencil.bench.full_run import EPOCHS, full_run_seconds
from pencil.bench.limits import count_work, measure_speeds
from pencil.bench.packed import Packed, start_and_pack
from pencil.bench.plain import PlainLoop
from pencil.bench.report import Report, rate_text
from pencil.bench.runner import Runner, random_images
from pencil.bench.turns import Tell, take_turns
from pencil.data import Dataset
from pencil.runtime import device_name

LEARNING = "PENCIL label learning"


def run_suite(
    backbone: str, *, device: str, batch_size: int, slice_seconds: float, parallel: int, sizes: bool, tell: Tell
) -> Report:
    """Measure what can be measured on this machine: up to `parallel` runs at once (0: none), other `sizes` if asked."""
    settings = {"backbone": backbone, "hardware": {"device": device}, "optimizer": {"batch_size": batch_size}}
    report = Report(
        backbone, options=f"--batch-size {batch_size} --parallel {parallel}{'' if sizes else ' --no-sizes'}"
    )
    # Other processes come first, while this one holds nothing of the device.
    packed = _pack(report, settings, batch_size, parallel, slice_seconds, tell) if parallel else None
    dataset = random_images(40 * batch_size, 10, 32)
    tell("building the engine …")
    labels = Runner(dataset, settings, phase="labels")
    report.device, report.notes = device_name(labels.machine.device), list(dict.fromkeys(labels.notes))
    report.seconds["start to first step"] = labels.first_step
    plainly = Runner(dataset, settings | {"method": "cross_entropy"}, phase="training")
    by_hand = _by_hand(dataset, labels, batch_size)
    contest: dict[str, Callable[[float], float]] = {
        LEARNING: labels.run,
        "cross entropy": plainly.run,
        "plain loop, 32 bits": lambda seconds: by_hand.run(seconds, batch_size),
    }
    if labels.engine.steppers.captured:
        eager = settings | {"hardware": {"device": device, "compile": False}}
        contest["eager"] = Runner(dataset, eager, phase="labels").run
    report.rates |= take_turns(contest, slice_seconds, tell)
    if packed:
        _best_number(report, packed)
    _ratios(report)
    _limits(report, labels, batch_size)
    if sizes:
        _sizes(report, settings, batch_size, slice_seconds, tell)
    if labels.machine.device.type == "cuda":
        report.megabytes["largest use of the GPU"] = torch.cuda.max_memory_allocated() / 2**20
        _full_run(report, settings, packed, tell)
    if sys.platform != "win32":
        import resource

        unit = 2**20 if sys.platform == "darwin" else 2**10
        report.megabytes["largest use of memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return report


def _pack(
    report: Report, settings: dict[str, Any], batch_size: int, parallel: int, seconds: float, tell: Tell
) -> Packed:
    """Measure the time to start and several numbers of runs at once."""
    tell(f"starting a process afresh, again, and {parallel} at once …")
    packed = start_and_pack(settings, examples=40 * batch_size, parallel=parallel, seconds=seconds, tell=tell)
    report.seconds |= packed.started
    report.rates |= {f"{number} runs at once, together": rate for number, rate in packed.together.items()}
    return packed


def _best_number(report: Report, packed: Packed) -> None:
    """Say which number of runs at once was best, beside one alone; they took no turns, so it is no ratio."""
    *fewer, most = map(str, packed.together)
    which = (
        f"of {', '.join(fewer)} and {most} runs at once {packed.best} were best" if fewer else f"{most} runs at once"
    )
    together, alone = rate_text(packed.together[packed.best]), rate_text(report.rates[LEARNING])
    report.notes.append(f"{which}: {together} images per second together, {alone} of one alone")
    report.notes += [f"{number} at once: {condition}" for number, condition in packed.conditions.items()]


def _ratios(report: Report) -> None:
    rates = report.rates
    report.ratios["engine against plain loop"] = rates[LEARNING] / rates["plain loop, 32 bits"]
    report.ratios["label learning against cross entropy"] = rates[LEARNING] / rates["cross entropy"]
    if "eager" in rates:
        report.ratios["captured against eager"] = rates[LEARNING] / rates["eager"]


def _limits(report: Report, runner: Runner, batch_size: int) -> None:
    """What the device would allow, by its own speed."""
    precision = runner.machine.precision
    activation = precision.forward_dtype or precision.dtype
    work = count_work(runner.engine.new_network(), (batch_size, 3, 32, 32), activation)
    speeds = measure_speeds(runner.machine.device, activation)
    report.rates |= speeds.limits(work, batch_size)
    report.work = {
        "gigaflops a step": work.flops / 1e9,
        "megabytes a step": work.bytes / 1e6,
        "device, teraflops": speeds.flops / 1e12,
        "device, gigabytes a second": speeds.bytes / 1e9,
    }


def _full_run(report: Report, settings: dict[str, Any], packed: Packed | None, tell: Tell) -> None:
    """Extrapolate to the paper's run on CIFAR-10: alone, and as one of the best number at once."""
    tell("a few epochs of 50,000 images …")
    alone = full_run_seconds(settings)
    report.seconds[f"{EPOCHS} epochs of CIFAR-10, extrapolated"] = alone
    if packed:
        each = packed.together[packed.best] / packed.best
        report.seconds[f"the same as one of {packed.best} at once"] = alone * report.rates[LEARNING] / each


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


def _by_hand(dataset: Dataset, runner: Runner, batch_size: int) -> PlainLoop:
    engine, device = runner.engine, runner.machine.device
    array = dataset.train.inputs.array
    assert array is not None
    given = torch.from_numpy(dataset.train.given).to(device)
    network = engine.new_network().to(device)
    loop = PlainLoop(network, engine.prepare, torch.from_numpy(array).to(device), given, dataset.num_classes)
    loop.run(1e-3, batch_size)  # The first step is slow, and not what is measured.
    return loop
