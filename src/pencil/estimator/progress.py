"""Progress as plain lines, for `verbose`."""

import time
from collections.abc import Sequence

from pencil.engine import EpochRecord, Listener
from pencil.types import Phase

LINE_EVERY = 2.0
"""Least seconds between two lines within a phase, unless every epoch is asked for."""
FIGURES = {"train_accuracy": "given labels", "held_out_accuracy": "held out"}


class Lines(Listener):
    """Keeps the records of all epochs; prints one line a phase and every few seconds (1) or one an epoch (2)."""

    def __init__(self, phases: Sequence[Phase], verbose: int) -> None:
        self.replanned(phases)
        self.verbose = verbose
        self.history: list[EpochRecord] = []
        self.last = time.monotonic()

    def replanned(self, phases: Sequence[Phase]) -> None:
        self.phases = {phase.name: phase.epochs for phase in phases}

    def epoch_done(self, record: EpochRecord) -> None:
        self.history.append(record)
        ends = record["phase_epoch"] + 1 == self.phases[record["phase"]]
        waited = time.monotonic() - self.last >= LINE_EVERY
        if self.verbose > 1 or (self.verbose and (ends or waited)):
            self.last = time.monotonic()
            self.note(self._line(record))

    def note(self, line: str) -> None:
        if self.verbose:
            print(f"[PencilClassifier] {line}", flush=True)

    def _line(self, record: EpochRecord) -> str:
        words = [f"loss {record['loss']:.3f}"]
        words += [f"{word} {record[key]:.1f}%" for key, word in FIGURES.items() if key in record]
        place = f"phase {record['phase']}, epoch {record['epoch'] + 1}/{sum(self.phases.values())}"
        return f"{place}: {', '.join(words)}, changed {record['relabelled']:,}"
