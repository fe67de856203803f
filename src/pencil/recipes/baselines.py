"""How the methods PENCIL is compared with are trained in the paper's cells: as published, or as long as PENCIL is."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Document = dict[str, Any]
Step = tuple[float, str]
"""The epoch at which a learning rate starts, and the rate."""


@dataclass(frozen=True)
class Cell:
    """PENCIL's settings in one cell of the paper's tables."""

    rates: tuple[Any, Any, str]
    """Learning rates of its three phases."""
    epochs: tuple[int, int, int]
    beta: float
    batch: int
    decay: float
    data: str = ""
    """cifar10 or cifar100, whose schedules the methods' own papers give."""


# Epochs and where the rate is divided by ten: by Patrini et al., Zhang & Sabuncu, and in Tanaka et al.'s second step.
PUBLISHED = {"cifar10": (120, 40, 80), "cifar100": (150, 80, 120)}
# Cross entropy's rates, which the paper does not give: those of Tanaka et al.'s second step, and of Zhang & Sabuncu,
# whose figures are the paper's row on CIFAR-100 (docs/decisions/0015).
ONE_TRAINING = {"cifar10": 0.2, "cifar100": 0.01}
FORWARD_DECAY = {"cifar10": 1e-4, "cifar100": 1e-3}


def settings(method: str, names: tuple[str, ...], cell: Cell) -> Document:
    """Return phases, options and weight decay of a method other than PENCIL in a cell; `names` are its phases."""
    decay = cell.decay
    if method in ("forward", "backward", "forward_estimated"):
        document = _published(names, 0.1, cell)
        decay = FORWARD_DECAY.get(cell.data, decay)
        if method == "forward_estimated" and cell.data == "cifar100":
            document["options"] = {"drop_top": 0.0}
    elif method == "lq":
        document = _published(names, 0.01, cell)
    elif method == "truncated_lq":
        document = _truncated(names, cell)
    elif len(names) == 1:
        document = _published(names, ONE_TRAINING.get(cell.data, 0.0), cell)
    else:
        document = _like_pencil(names, cell)
        if method == "joint_optimization":
            document["options"] = {"entropy_weight": cell.beta}
    return {"optimizer": _optimizer(cell, decay), **document}


def _optimizer(cell: Cell, decay: float) -> Document:
    return {"batch_size": cell.batch, "momentum": 0.9, "weight_decay": decay}


def _plain(cell: Cell) -> tuple[int, list[Step]]:
    """One training over PENCIL's epochs at PENCIL's rates."""
    first, second, last = cell.rates
    switch = cell.epochs[0] + cell.epochs[1]
    steps = [(0.0, str(first))] + ([(float(cell.epochs[0]), str(second))] if second != first else [])
    for part in last.split(","):
        value, _, start = part.partition("@")
        steps.append((switch + float(start or 0), value.strip()))
    return sum(cell.epochs), steps


def _divided(rate: float, cell: Cell) -> tuple[int, list[Step]]:
    epochs, *drops = PUBLISHED[cell.data]
    return epochs, [(float(at), f"{rate / 10**n:g}") for n, at in enumerate((0, *drops))]


def _published(names: tuple[str, ...], rate: float, cell: Cell) -> Document:
    """The method's own schedule, once for each training; PENCIL's where its paper has no such data."""
    schedule = _divided(rate, cell) if cell.data in PUBLISHED else _plain(cell)
    return _phases(**{name: schedule for name in names})


def _truncated(names: tuple[str, ...], cell: Cell) -> Document:
    """L_q's schedule, cut where truncation begins: at the first drop of the rate."""
    schedule = _divided(0.01, cell) if cell.data in PUBLISHED else _plain(cell)
    start = PUBLISHED[cell.data][1] if cell.data in PUBLISHED else cell.epochs[0]
    return _cut(schedule, start, names)


def _like_pencil(names: tuple[str, ...], cell: Cell) -> Document:
    """PENCIL's epochs and rates over three phases; over two the last two are one, of more the middle ones share."""
    if len(names) == 2:
        return _cut(_plain(cell), cell.epochs[0], names)
    between = len(names) - 2
    ends = [cell.epochs[1] * number // between for number in range(between + 1)]
    epochs = (cell.epochs[0], *(end - start for start, end in pairwise(ends)), cell.epochs[2])
    rates = (cell.rates[0], *[cell.rates[1]] * between, cell.rates[2])
    return {"phases": {name: {"epochs": n, "lr": str(lr)} for name, n, lr in zip(names, epochs, rates, strict=True)}}


def _cut(schedule: tuple[int, list[Step]], at: int, names: tuple[str, ...]) -> Document:
    """Make two phases of one training."""
    epochs, steps = schedule
    before = [(start, rate) for start, rate in steps if start < at]
    current = [rate for start, rate in steps if start <= at][-1]
    after = [(0.0, current), *((start - at, rate) for start, rate in steps if start > at)]
    return _phases(**{names[0]: (at, before), names[1]: (epochs - at, after)})


def _phases(**schedules: tuple[int, list[Step]]) -> Document:
    def text(steps: list[Step]) -> str:
        return ", ".join(rate if not start else f"{rate}@{start:g}" for start, rate in steps)

    return {"phases": {name: {"epochs": epochs, "lr": text(steps)} for name, (epochs, steps) in schedules.items()}}
