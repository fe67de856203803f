"""Runs the real engine for a while and measures it."""

import contextlib
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pencil import data
from pencil.bench.plain import synchronise
from pencil.config import merge
from pencil.data import Dataset
from pencil.engine import Listener
from pencil.run.planning.plan import Plan, plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import choose_machine


def random_images(count: int, classes: int, side: int) -> Dataset:
    """Return a dataset of noise, which costs as much to train on as any other."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    ids = np.arange(count).astype(str)
    return data.from_arrays(
        images, rng.integers(0, classes, count), ids=ids, class_names=[f"{c}" for c in range(classes)]
    )


class _Enough(Exception):
    """The time is up."""


class Runner(Listener):
    """One configuration of the engine, run in slices of time so that several can take turns."""

    def __init__(self, dataset: Dataset, settings: dict[str, Any], *, phase: str, folder: Path | None = None) -> None:
        started = time.perf_counter()
        quiet = {"data": {"held_out": 0.0}, "recipe": "paper/cifar10-symmetric-50"}
        planned = plan(dataset, merge(quiet, settings))
        self.machine = choose_machine(planned.settings.hardware)
        self.engine, self.notes = build_engine(endless(planned, phase), self.machine, folder)
        self.first_step = 0.0
        self._train(0.0)
        self.first_step = time.perf_counter() - started

    def run(self, seconds: float) -> float:
        """Train for a while and return the images per second, from the end of the first step on.

        What comes before it, as an order of all examples, belongs to an epoch and not to a step.
        """
        self._train(seconds)
        return self.steps * self.engine.batch_size / (time.perf_counter() - self.started)

    def _train(self, seconds: float) -> None:
        self.seconds, self.steps, self.started = seconds, -1, 0.0
        with contextlib.suppress(_Enough):
            self.engine.train(self)
        synchronise(self.machine.device)

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.steps += 1
        if self.steps == 0:
            synchronise(self.machine.device)
            self.started = time.perf_counter()
            if self.first_step:
                return
        # A queue of steps runs ahead of the device; looking at the clock only now and then keeps it filled.
        if self.first_step and self.steps % 20 and self.machine.device.type == "cuda":
            return
        if time.perf_counter() >= self.started + self.seconds:
            raise _Enough

    def note(self, line: str) -> None:
        self.notes.append(line)


def endless(planned: Plan, phase: str) -> Plan:
    """Return a plan that never leaves this phase."""
    chosen = next(p for p in planned.phases if p.name == phase)
    return replace(planned, phases=(replace(chosen, epochs=1_000_000),))
