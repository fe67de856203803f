"""Measures how long a run would take: a moment of its longest phase, on state that is thrown away."""

import time
from contextlib import suppress
from dataclasses import replace
from statistics import median

import numpy as np
import torch

from pencil.engine import Engine, EpochRecord, Listener
from pencil.run.planning.plan import Plan
from pencil.run.training.build import build_engine
from pencil.run.training.machine import Machine

WARM_UP = 3
"""Steps that are not counted: they fill caches, compile and capture."""
SAMPLE_SECONDS = 2.0
SLOW_SECONDS = 8.0
"""From the first step on; whoever is so slow needs no warming up to be measured."""
FORWARD_SHARE = 1 / 3
"""Cost of predicting an example, in units of training on it: a backward pass costs about two forward passes."""


def estimate_seconds(plan: Plan, machine: Machine) -> float:
    """Train for a moment and extrapolate to all epochs, with the predictions that are made after each."""
    longest = max(plan.phases, key=lambda phase: phase.usual)
    # Short epochs are repeated until there is enough to measure, however few the run has.
    engine, _ = build_engine(replace(plan, phases=(replace(longest, epochs=1_000_000, patience=0),)), machine)
    # A look at all examples may itself take longer than a moment: what watches the run waits.
    watched, engine.watched = engine.watched, {}
    sample = _listen(engine)
    if len(sample.epochs) > 1:
        # Epochs are short, and then looks weigh as much as steps: they are measured whole.
        engine.watched = watched
        return plan.epochs * median(_listen(engine).epochs[1:] or sample.epochs[1:])
    dataset = plan.dataset
    looked_at = len(dataset.held_out or ()) + len(dataset.test or ())
    steps = -(-len(dataset.train) // engine.batch_size)
    return plan.epochs * steps * sample.step_seconds * (1 + FORWARD_SHARE * looked_at / len(dataset.train))


def _listen(engine: Engine) -> "_Sample":
    sample = _Sample()
    with suppress(_Enough):
        engine.train(sample)
    return sample


class _Enough(Exception):
    """Enough was measured."""


class _Sample(Listener):
    """Listens to the engine until it has seen enough steps."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.epochs: list[float] = []

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()  # Steps are only queued; a step's time is known when it is done.
        self.times.append(time.perf_counter())
        passed = [self.times[-1] - time for time in self.times]
        if (len(passed) > WARM_UP + 1 and passed[WARM_UP] >= SAMPLE_SECONDS) or passed[0] >= SLOW_SECONDS:
            raise _Enough

    def epoch_done(self, record: EpochRecord) -> None:
        self.epochs.append(record["seconds"])

    @property
    def step_seconds(self) -> float:
        """The usual time between two steps."""
        return float(np.median(np.diff(self.times[min(WARM_UP, len(self.times) - 2) :])))
