"""The loop: phases of epochs of steps, measured at each epoch's end, stoppable and resumable anywhere."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pencil.data.augment import Prepare
from pencil.engine.capture import CapturedStep
from pencil.engine.evaluate import Evaluator
from pencil.engine.events import EpochRecord, Listener, Stopped
from pencil.engine.feed import Feed
from pencil.engine.state import State
from pencil.engine.step import Step
from pencil.runtime import Precision, seed_for
from pencil.types import Phase


@dataclass(frozen=True)
class Watched:
    """A set of examples whose accuracy is measured each epoch."""

    evaluator: Evaluator
    labels: Tensor


@dataclass
class Engine:
    """Trains a state through the phases of its method."""

    state: State
    phases: tuple[Phase, ...]
    feed: Feed
    prepare: Prepare
    precision: Precision
    batch_size: int
    seed: int
    new_network: Callable[[], nn.Module]
    """Makes the same kind of network again, for phases that start afresh."""
    train_evaluator: Evaluator
    watched: Mapping[str, Watched]
    """"held_out" and "test", where they exist."""
    captured: bool = False
    epoch: int = 0
    """Epochs completed."""
    seconds: float = 0.0
    """Training time of this and earlier sittings."""
    steppers: dict[tuple[str, int], Callable[[], None]] = field(default_factory=dict)

    def train(self, listener: Listener) -> None:
        """Run from where the state is to the end."""
        for phase, phase_epoch in self._remaining():
            middle = int(self.state.clock.step.item()) > 0
            if phase_epoch == 0 and not middle:
                self._enter(phase)
            self._run_epoch(phase, phase_epoch, listener)
            if listener.checkpoint_due(phase_end=phase_epoch + 1 == phase.epochs):
                listener.save(self.state.export(), self.meta())

    def _remaining(self) -> Iterator[tuple[Phase, int]]:
        first = 0
        for phase in self.phases:
            for phase_epoch in range(phase.epochs):
                if first + phase_epoch >= self.epoch:
                    yield phase, phase_epoch
            first += phase.epochs

    def meta(self) -> dict[str, Any]:
        """Return what a checkpoint needs besides tensors."""
        return {"epoch": self.epoch, "seconds": self.seconds, "threads": torch.get_num_threads()}

    def restore(self, arrays: Mapping[str, NDArray[np.generic]], meta: Mapping[str, Any]) -> None:
        """Go back to a checkpoint; the columns that rules and methods had added by then come with it."""
        self.state.restore(arrays)
        self.epoch, self.seconds = int(meta["epoch"]), float(meta["seconds"])

    def _enter(self, phase: Phase) -> None:
        phase.rule.prepare(self.state.table)
        if phase.fresh_network:
            self.state.method.before_fresh_network(_View(self, 0), phase)
            torch.manual_seed(seed_for(self.seed, "network", self.epoch))
            self.state.renew_network(self.new_network().state_dict())
        self.state.method.before_phase(_View(self, 0), phase)

    def _run_epoch(self, phase: Phase, phase_epoch: int, listener: Listener) -> None:
        started = time.perf_counter()
        batches = self._begin_epoch(phase, phase_epoch)
        first = int(self.state.clock.step.item())
        self.feed.start_epoch(batches[first:])
        for number in range(first, len(batches)):
            self.feed.stage()
            self._stepper(phase, len(batches[number]), listener)()
            listener.stepped(self.epoch, number + 1, len(batches))
            if listener.stop_requested() and number + 1 < len(batches):
                self.seconds += time.perf_counter() - started
                listener.save(self.state.export(), self.meta())
                raise Stopped
        record = self._measure(phase, phase_epoch)
        elapsed = time.perf_counter() - started
        self.seconds += elapsed
        self.epoch += 1
        self.state.clock.step.zero_()
        self.state.clock.position.zero_()
        examples = sum(len(batch) for batch in batches[first:])
        record |= {"seconds": round(elapsed, 4), "images_per_second": round(examples / elapsed, 1)}
        listener.epoch_done(record)
        if listener.stop_requested():
            listener.save(self.state.export(), self.meta())
            raise Stopped

    def _begin_epoch(self, phase: Phase, phase_epoch: int) -> list[Tensor]:
        clock = self.state.clock
        order = torch.randperm(
            len(self.state.table), generator=torch.Generator().manual_seed(seed_for(self.seed, "order", self.epoch))
        )
        batches = list(order.split(self.batch_size))
        clock.order.copy_(order)
        clock.epoch.fill_(self.epoch)
        clock.rates.copy_(self._rates(phase, phase_epoch, len(batches)))
        self.state.model.train()
        if int(clock.step.item()) == 0:
            self.state.meters.reset()
            # Random numbers inside a network (dropout) follow from seed and epoch, so that a resume repeats them.
            torch.manual_seed(seed_for(self.seed, "epoch", self.epoch))
            self.state.method.before_epoch(_View(self, phase_epoch), phase)
        return batches

    def _rates(self, phase: Phase, phase_epoch: int, steps: int) -> Tensor:
        moments = [phase_epoch + step / steps for step in range(steps)]
        label_step = phase.label_step
        return torch.tensor(
            [
                [phase.lr.at(moment, phase.epochs) for moment in moments],
                [label_step.at(moment, phase.epochs) if label_step else 0.0 for moment in moments],
            ],
            dtype=torch.float64,
        )

    def _stepper(self, phase: Phase, size: int, listener: Listener) -> Callable[[], None]:
        key = (phase.name, size)
        if key not in self.steppers:
            self.steppers = {k: v for k, v in self.steppers.items() if k[0] == phase.name}
            self.steppers[key] = self._make_stepper(phase, size, listener)
        return self.steppers[key]

    def _make_stepper(self, phase: Phase, size: int, listener: Listener) -> Callable[[], None]:
        plain = Step(self.state, phase, self.feed, self.prepare, self.precision)
        # Short batches are too few to be worth compiling.
        wraps = (_compile, _compile_network, None) if size == self.batch_size else (None,)
        for wrap in wraps if self.captured else ():
            try:
                step = Step(self.state, phase, self.feed, self.prepare, self.precision, wrap)
                return CapturedStep(step, size, [*self.state.tensors().values(), self.state.lr])
            except Exception as error:
                self.state.optimizer.zero_grad(set_to_none=True)
                listener.note(f"the step of phase {phase.name} cannot be captured: {type(error).__name__}: {_gist(error)}")
        if self.captured:
            listener.note("running eagerly.")
            self.captured = False
        return lambda: plain(size)

    def _measure(self, phase: Phase, phase_epoch: int) -> EpochRecord:
        counts, parts = self.state.meters.read()
        n = max(counts["examples"], 1)
        clock_rates = self.state.clock.rates[:, 0].tolist()
        record: EpochRecord = {
            "epoch": self.epoch,
            "phase": phase.name,
            "phase_epoch": phase_epoch,
            "lr": round(clock_rates[0], 8),
            "label_step": round(clock_rates[1], 8),
            "loss": sum(parts.values()) / n,
            "loss_parts": {name: value / n for name, value in parts.items()},
            "train_accuracy": 100 * counts["correct_given"] / n,
            "agreement": 100 * counts["agreeing"] / n,
            "changed": int(counts["changed"]),
            "relabelled": int(counts["relabelled"]),
            "nonfinite": int(counts["nonfinite"]),
        }
        if counts["label_known"]:
            record["label_accuracy"] = 100 * counts["label_correct"] / counts["label_known"]
        for name, watched in self.watched.items():
            record[f"{name}_accuracy"] = watched.evaluator.accuracy(self.state.model, watched.labels)
        # Without a held-out set the latest weights count as the best.
        self.state.keep_best(record.get("held_out_accuracy", float(self.epoch)))
        return record


class _View:
    """What a method's hook sees of the engine."""

    def __init__(self, engine: Engine, phase_epoch: int) -> None:
        self.engine = engine
        self.columns = engine.state.table.columns
        self.epoch, self.phase_epoch = engine.epoch, phase_epoch

    def predict(self) -> Tensor:
        return self.engine.train_evaluator.logits(self.engine.state.model).softmax(-1)

    def predict_best(self) -> Tensor:
        with self.engine.state.best_weights():
            return self.predict()


def _compile(function: Any) -> Any:
    # Combo kernels join the many tiny ones: weight casts, batch-norm counters.
    return torch.compile(function, dynamic=False, options={"combo_kernels": True})


def _compile_network(function: Any) -> Any:
    return _compile(function) if isinstance(function, nn.Module) else function


def _gist(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    return lines[0][:200] if len(lines) == 1 else f"{lines[0][:200]} … {lines[-1][:200]}"
