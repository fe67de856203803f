"""One sitting of training on a run folder: history, checkpoints, progress and requests to stop."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pencil.engine import EpochRecord, Listener
from pencil.lines import in_one_line
from pencil.results.checkpoint_store import CheckpointStore
from pencil.results.history import History
from pencil.results.log_file import LogFile
from pencil.results.lost_classes import line_of, lost_classes
from pencil.run.training.sittings import Sittings
from pencil.spelling import spelled
from pencil.types import Phase

MOMENT = 2.0
"""Seconds that a request to stop may take on its way through other processes."""
HISTORY = "history"
"""Name of the history's text among a checkpoint's arrays."""


class Progress(Protocol):
    """Shows a person how training goes."""

    def started(self, phases: Sequence[Phase], epoch: int) -> None:
        """Training begins, or goes on, after that many complete epochs."""

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """A step was taken."""

    def epoch_done(self, record: EpochRecord) -> None:
        """An epoch is complete."""

    def replanned(self, phases: Sequence[Phase]) -> None:
        """A phase ended before its time."""

    def note(self, line: str) -> None:
        """A line for the log."""


class Silent:
    """Shows nothing."""

    def started(self, phases: Sequence[Phase], epoch: int) -> None:
        """Shows nothing."""

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        """Shows nothing."""

    def epoch_done(self, record: EpochRecord) -> None:
        """Shows nothing."""

    def replanned(self, phases: Sequence[Phase]) -> None:
        """Shows nothing."""

    def note(self, line: str) -> None:
        """Shows nothing."""


@dataclass
class Session(Listener):
    """Connects the engine with the run folder and the display."""

    history: History
    checkpoints: CheckpointStore
    progress: Progress
    checkpoint_seconds: float
    sittings: Sittings
    writes: bool = True
    """False in the processes that train along with the leading one."""
    stopping: threading.Event = field(default_factory=threading.Event)
    received: int = 0
    """Number of the signal that asked to stop."""
    asked: float = 0.0
    """When it came."""
    said: bool = False
    classes: Sequence[str] = ()
    """The classes' names."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The method's, as the run was given them."""
    log: LogFile | None = None
    """Where lines are kept; nowhere in the processes that train along."""
    lost: frozenset[int] = frozenset()
    """Classes without a label that were told of."""
    last_save: float = field(default_factory=time.monotonic)

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.progress.stepped(epoch, step, steps)

    def epoch_done(self, record: EpochRecord) -> None:
        if self.writes:
            self.history.append(record)
        self.progress.epoch_done(record)
        if not self.lost:  # Of many classes one after the other goes; the end tells of all that stay lost.
            self.report_lost(lost_classes(record))

    def replanned(self, phases: Sequence[Phase]) -> None:
        self.progress.replanned(phases)

    def report_lost(self, lost: frozenset[int]) -> None:
        """Say which classes have lost their last example, in one line, unless just these were told of before."""
        if lost and lost != self.lost:
            self.note(line_of([self.classes[number] for number in sorted(lost)], self.options))
            self.lost = lost

    def checkpoint_due(self, *, phase_end: bool) -> bool:
        return phase_end or time.monotonic() - self.last_save >= self.checkpoint_seconds

    def save(self, tensors: dict[str, NDArray[np.generic]], meta: dict[str, Any]) -> None:
        # With its history, so that a resume ends with the same one whatever became of the file.
        history = np.frombuffer(self.history.content(), dtype=np.uint8)
        self.checkpoints.save(tensors | {HISTORY: history}, meta | self.sittings.meta())
        self.last_save = time.monotonic()

    def stop_requested(self) -> bool:
        # Said here and not where the signal is handled: printing is not safe in the middle of another print.
        if self.stopping.is_set() and not self.said:
            self.said = True
            self.note("stopping; a checkpoint is being saved …")
        return self.stopping.is_set()

    def note(self, line: str) -> None:
        line = spelled(in_one_line(line))
        if self.log is not None:
            self.log.write(line)
        self.progress.note(line)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take Ctrl-C and SIGTERM as a request to save and stop; a second one stops at once.

        Ctrl-C reaches all processes of a terminal, and one that started others hands it on to them as SIGTERM: two
        signals of different kinds at one moment are one request.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heard = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        # A shell lets what runs behind it ignore Ctrl-C; a handler that was there before Python has no name in it.
        before = {number: handler for number, handler in heard.items() if handler not in (signal.SIG_IGN, None)}

        def request(number: int, frame: Any) -> None:
            handed_on = number != self.received and time.monotonic() - self.asked < MOMENT
            if self.stopping.is_set() and handed_on:
                return
            self.received, self.asked = number, time.monotonic()
            if self.stopping.is_set():
                _restore(before)
                earlier = before[signal.Signals(number)]
                if callable(earlier):
                    earlier(number, frame)
                raise KeyboardInterrupt
            self.stopping.set()

        for number in before:
            signal.signal(number, request)
        try:
            yield
        finally:
            _restore(before)


def _restore(handlers: Mapping[signal.Signals, Callable[..., Any] | int]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
