"""The loop: phases of epochs of steps, measured at each epoch's end, stoppable and resumable anywhere."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pencil.data.transforms.augment import Prepare
from pencil.engine.distortion import DISTORTIONS, reason_to_distort
from pencil.engine.evaluate import Evaluator
from pencil.engine.events import EpochRecord, Listener, Stopped
from pencil.engine.feed import Feed
from pencil.engine.harm import went_back
from pencil.engine.low import LowWeights
from pencil.engine.patience import Patience
from pencil.engine.record import labelled, measured, rates, refuse_nonfinite
from pencil.engine.share import OwnBatches, average_buffers, unite
from pencil.engine.state import State
from pencil.engine.step import Step, Wrap
from pencil.engine.stepper import Steppers
from pencil.engine.view import View
from pencil.engine.watched import Agreement, Watched, score, watch
from pencil.runtime import ALONE, Precision, Processes, seed_for
from pencil.types import Phase

STOP_CHECK = 32
"""Steps between two looks for a stop request, with several GPUs."""


@dataclass
class Engine:
    """Trains a state through the phases of its method."""

    state: State
    phases: tuple[Phase, ...]
    """With the lengths that are planned, or real where a phase was left early."""
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
    processes: Processes = ALONE
    epoch: int = 0
    """Epochs completed."""
    seconds: float = 0.0
    """Training time of this and earlier sittings."""
    patience: Patience = field(default_factory=Patience)
    """With the phase that is running."""
    steppers: Steppers = field(init=False)

    def __post_init__(self) -> None:
        alone = self.processes.count == 1
        self.steppers = Steppers(self.state, self.batch_size, self.precision, captured=self.captured and alone)

    def train(self, listener: Listener) -> None:
        """Run from where the state is to the end."""
        while (number := self._phase_number()) is not None:
            phase_epoch = self.epoch - sum(phase.epochs for phase in self.phases[:number])
            middle = int(self.state.clock.step.item()) > 0
            if phase_epoch == 0 and not middle:
                self._enter(number, listener)
            self._run_epoch(number, phase_epoch, listener)
            if self.processes.leader_says(listener.checkpoint_due(phase_end=self._phase_number() != number)):
                self.save(listener)

    def _phase_number(self) -> int | None:
        """Return which phase the next epoch belongs to; None after the last."""
        end = 0
        for number, phase in enumerate(self.phases):
            end += phase.epochs
            if self.epoch < end:
                return number
        return None

    def meta(self) -> dict[str, Any]:
        """Return what a checkpoint needs besides tensors."""
        return {
            "epoch": self.epoch,
            "seconds": self.seconds,
            "threads": torch.get_num_threads(),
            "micro_batch": self.state.micro_batch,
            "distorted": self.state.distorted,
            "lengths": [phase.epochs for phase in self.phases],
            "losses": self.patience.losses,
        }

    def restore(self, arrays: Mapping[str, NDArray[np.generic]], meta: Mapping[str, Any]) -> None:
        """Go back to a checkpoint; the columns that rules and methods had added by then come with it."""
        self.state.restore(arrays)
        if not self.processes.leads:
            self.state.meters.reset()
        self.epoch, self.seconds = int(meta["epoch"]), float(meta["seconds"])
        self.state.micro_batch = int(meta.get("micro_batch", 0))
        self.state.distorted = bool(meta.get("distorted", False))
        lengths = meta.get("lengths", [phase.epochs for phase in self.phases])
        self.phases = tuple(phase.lasting(int(n)) for phase, n in zip(self.phases, lengths, strict=True))
        # Checkpoints of before may have losses that were not finite, as nothing.
        self.patience = Patience([float(loss) for loss in meta.get("losses", []) if loss is not None])

    def _enter(self, number: int, listener: Listener) -> None:
        phase = self.phases[number]
        before = self.phases[number - 1]
        has_learned = number > 0 and self.patience.has_learned(before.patience, before.epochs)
        self.patience = Patience()
        phase.rule.prepare(self.state.table)
        if phase.from_best:
            self.state.return_to_best()
        if phase.fresh_network:
            self.state.method.before_fresh_network(self._view(0), phase)
            torch.manual_seed(seed_for(self.seed, "network", self.epoch))
            self.state.renew_network(self.new_network().state_dict())
        self.state.method.before_phase(self._view(0), phase)
        if self.state.guard:
            self.state.guard.enter(self.state.learning(), fresh=phase.fresh_network)
        self._lengthen(number, listener)
        self._distort_where_it_helps(phase, listener, has_learned=has_learned)

    def _view(self, phase_epoch: int) -> View:
        return View(self.state, self.train_evaluator, self.watched.get("held_out"), self.epoch, phase_epoch)

    def _lengthen(self, number: int, listener: Listener) -> None:
        """Give a phase more epochs where the method needs them, as many as it may have."""
        phase = self.phases[number]
        if phase.at_most <= phase.epochs:
            return
        times, why = self.state.method.times_as_long(self._view(0), phase)
        times = self.processes.leader_number(times)
        longer = phase.lasting(min(round(max(times, 1) * phase.epochs), phase.at_most))
        if longer.epochs == phase.epochs:
            return
        self.phases = (*self.phases[:number], longer, *self.phases[number + 1 :])
        listener.note(f"phase {phase.name} takes {longer.epochs} epochs instead of {phase.epochs}: {why}.")
        listener.replanned(self.phases)

    def _distort_where_it_helps(self, phase: Phase, listener: Listener, *, has_learned: bool) -> None:
        """Show distorted examples from here on, as labels begin to move, if there is no more to learn from plain ones.

        That is so where the loss on the held-out labels no longer fell, or there was time enough for it, or labels are
        known by heart.
        """
        state, held_out = self.state, self.watched.get("held_out")
        strength, distortion = state.teaching.distortion, DISTORTIONS.get(self.prepare.preparation.kind)
        if not strength or state.distorted or distortion is None or held_out is None or not phase.rule.moves:
            return
        learned, others = (
            (self.train_evaluator, state.table.columns["given"]),
            (held_out.evaluator, held_out.labels),
        )
        right = state.method.share_right(self._view(0)) if distortion.may_harm else None
        why = reason_to_distort(
            distortion, strength, state.network, learned, others, has_learned=has_learned, share_right=right
        )
        state.distorted = self.processes.leader_says(bool(why))
        if state.distorted:
            listener.note(f"{why}: from phase {phase.name} on it learns {distortion.distorted}.")

    def _run_epoch(self, number: int, phase_epoch: int, listener: Listener) -> None:
        started = time.perf_counter()
        phase = self.phases[number]
        batches = self._begin_epoch(phase, phase_epoch)
        first = int(self.state.clock.step.item())
        self.feed.start_epoch(batches[first:])
        self.state.table.start_epoch(batches[first:], moves=phase.rule.moves)
        for step in range(first, len(batches)):
            self.feed.stage()
            self.state.table.stage()
            self._step(phase, len(batches[step]), listener)
            self.state.table.collect()
            listener.stepped(self.epoch, step + 1, len(batches))
            if step + 1 < len(batches) and self._stopping(listener, step):
                self.seconds += time.perf_counter() - started
                unite(self.state, self.processes)
                # Running statistics are sums, so that averages of now go on to the same averages.
                self._average_buffers()
                self._stop(listener)
        self.state.table.settle()
        unite(self.state, self.processes)
        self._settle_buffers(listener)
        record = self._measure(phase, phase_epoch)
        if harm := went_back(self.state, phase, record, held_out=len(self.watched.get("held_out", ()))):
            listener.note(f"epoch {self.epoch + 1}: {harm}; labels and network go back, labels now move more slowly.")
        elapsed = time.perf_counter() - started
        self.seconds += elapsed
        self.epoch += 1
        self.state.clock.step.zero_()
        self.state.clock.position.zero_()
        self._leave_early(number, phase_epoch, record, listener)
        examples = min(len(self.state.table), (len(batches) - first) * self.batch_size)
        record |= {"seconds": round(elapsed, 4), "images_per_second": round(examples / elapsed, 1)}
        listener.epoch_done(record)
        limit = self.state.optimizer_settings.nonfinite_limit
        refuse_nonfinite(record, limit, examples=len(self.state.table), steps=len(batches))
        if self.processes.any(listener.stop_requested()):
            self._stop(listener)

    def _leave_early(self, number: int, phase_epoch: int, record: EpochRecord, listener: Listener) -> None:
        """End a phase here where its patience has worn out."""
        phase, done = self.phases[number], phase_epoch + 1
        if not self.processes.leader_says(self.patience.wears_out(record, phase.patience)) or done == phase.epochs:
            return
        self.phases = (*self.phases[:number], replace(phase, epochs=done), *self.phases[number + 1 :])
        listener.note(
            f"phase {phase.name} ends after {done} epochs: the loss on the held-out labels hardly falls any more."
        )
        listener.replanned(self.phases)

    def _stopping(self, listener: Listener, step: int) -> bool:
        """Ask whether to stop; processes agree on it, rarely on GPUs, where asking makes the host wait."""
        if self.processes.count > 1 and self.state.device.type != "cpu" and step % STOP_CHECK:
            return False
        return self.processes.any(listener.stop_requested())

    def _stop(self, listener: Listener) -> None:
        self.save(listener)
        raise Stopped

    def save(self, listener: Listener) -> None:
        """Write a checkpoint, once for all processes."""
        if self.processes.leads:
            self.state.table.before_save()
            listener.save(self.state.export(), self.meta())
            self.state.table.after_save()

    def _settle_buffers(self, listener: Listener) -> None:
        """Give running statistics one value, and undo those that a non-finite batch has spoiled."""
        self._average_buffers()
        if self.state.mend_buffers():
            listener.note("running statistics became non-finite and were put back to the start of the epoch.")

    def _average_buffers(self) -> None:
        average_buffers(self.state.model, self.processes)
        if self.state.average:
            average_buffers(self.state.average.network, self.processes)

    def _begin_epoch(self, phase: Phase, phase_epoch: int) -> OwnBatches:
        clock = self.state.clock
        order = torch.randperm(
            len(self.state.table), generator=torch.Generator().manual_seed(seed_for(self.seed, "order", self.epoch))
        )
        batches = OwnBatches(order, self.batch_size, self.processes)
        clock.order[: len(batches.order)].copy_(batches.order)
        clock.epoch.fill_(self.epoch)
        clock.rates.copy_(rates(phase, phase_epoch, len(batches)))
        if self.state.guard:
            clock.rates[1] *= self.state.guard.pace
        self.state.model.train()
        done = int(clock.step.item())
        clock.position.fill_(batches.start(done))
        if done == 0:
            self.state.meters.reset()
            self.state.spare_buffers()
            # Random numbers inside a network (dropout) follow from seed and epoch, so that a resume repeats them.
            follower = () if self.processes.leads else (self.processes.rank,)
            torch.manual_seed(seed_for(self.seed, "epoch", self.epoch, *follower))
            self.state.method.before_epoch(self._view(phase_epoch), phase)
        self.steppers.refresh()
        return batches

    def _step(self, phase: Phase, size: int, listener: Listener) -> None:
        def make(wrap: Wrap | None, low: LowWeights | None = None) -> Step:
            inputs = self.feed, self.prepare, self.precision
            return Step(self.state, phase, *inputs, processes=self.processes, wrap=wrap, low=low)

        self.steppers.take(phase, size, make, listener.note)

    def _measure(self, phase: Phase, phase_epoch: int) -> EpochRecord:
        record = {"epoch": self.epoch, "phase": phase.name, "phase_epoch": phase_epoch, **measured(self.state)}
        count = labelled(self.state)
        learned = Agreement(record["train_accuracy"] / 100 * count, count)
        record |= watch(
            self.state.network, self.watched, learned if self.state.teaching.forgive_overconfidence else None
        )
        self.state.keep_best(score(record, keeps_best=self.state.method.keeps_best))
        return record
