"""How long a whole run would take: some epochs at full size, with what is measured after each."""

import contextlib
from statistics import median
from typing import Any

from pencil.bench.runner import endless, random_images
from pencil.config import merge
from pencil.data import from_arrays
from pencil.engine import EpochRecord, Listener
from pencil.run.planning.plan import plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine

EPOCHS, EXAMPLES, TESTED = 320, 50_000, 10_000
"""The paper's run on CIFAR-10."""
MEASURED = 4


class _Enough(Exception):
    """Enough epochs were seen."""


class _Epochs(Listener):
    def __init__(self) -> None:
        self.seconds: list[float] = []

    def epoch_done(self, record: EpochRecord) -> None:
        self.seconds.append(float(record["seconds"]))
        if len(self.seconds) > MEASURED:
            raise _Enough


def full_run_seconds(settings: dict[str, Any]) -> float:
    """Train some epochs of label learning on as many images as CIFAR-10 has, and multiply."""
    images = random_images(EXAMPLES + TESTED, 10, 32).train
    array = images.inputs.array
    assert array is not None
    train, test = slice(EXAMPLES), slice(EXAMPLES, None)
    dataset = from_arrays(array[train], images.given[train], test=(array[test], images.given[test]))
    planned = plan(dataset, merge({"recipe": "paper/cifar10-symmetric-50"}, settings))
    engine, _ = build_engine(endless(planned, "labels"), choose_machine(planned.settings.hardware))
    seen = _Epochs()
    with contextlib.suppress(_Enough):
        engine.train(seen)
    # The first epoch compiles.
    return EPOCHS * median(seen.seconds[1:])
