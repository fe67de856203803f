"""Shows a person how training goes: a live display on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pencil.cli.failure import say
from pencil.cli.timing import Clock, spoken
from pencil.run.training.session import Progress, Silent
from pencil.types import Phase

LINE_EVERY = 2.0
"""Least seconds between two plain lines."""


@contextmanager
def display(*, quiet: bool = False, title: str = "") -> Iterator[Progress]:
    """Give the display that suits stderr, for the length of a run; stdout stays free for results."""
    console = Console(file=cast(IO[str], Heedless(sys.stderr)))
    if quiet:
        yield Silent()
    elif console.is_terminal and not console.is_dumb_terminal:
        with Live(console=console, refresh_per_second=5, auto_refresh=True) as live:
            yield Lively(live, title)
    else:
        yield Lines(title)


class Heedless:
    """A stream that leaves out what it cannot write: a terminal that was closed must not end a run."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Shown:
    """What both displays know of a run: where it stands and what its last epoch came to."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.clock = Clock(0)
        self.phases: Sequence[Phase] = ()
        self.record: dict[str, Any] = {}

    def started(self, phases: Sequence[Phase], epoch: int) -> None:
        self.clock = Clock(0, done=epoch)
        self.replanned(phases)

    def replanned(self, phases: Sequence[Phase]) -> None:
        self.phases = [phase for phase in phases if phase.epochs]
        self.clock.total = sum(phase.epochs for phase in phases)

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        self.clock.stepped(step, steps)

    def epoch_done(self, record: dict[str, Any]) -> None:
        self.record = record
        self.clock.epoch_done(record["epoch"] + 1)

    def place(self, epoch: int) -> str:
        """Say which phase and which epoch that is."""
        epoch = min(epoch, self.clock.total - 1)
        first = 0
        for number, phase in enumerate(self.phases, start=1):
            if epoch < first + phase.epochs:
                return f"phase {number}/{len(self.phases)} {phase.name}, epoch {epoch + 1}/{self.clock.total}"
            first += phase.epochs
        return "nothing left to train"

    def figures(self) -> list[str]:
        """Put the last epoch into words."""
        record = self.record
        named = {
            "train_accuracy": "given labels",
            "held_out_accuracy": "held out",
            "test_accuracy": "test",
            "label_accuracy": "correct labels",
        }
        lost = record.get("nonfinite") and not record["loss"]  # Nothing was left to take the loss of.
        words = ["loss no number" if lost else f"loss {record['loss']:.3f}"]
        words += [f"{word} {record[key]:.1f}%" for key, word in named.items() if key in record]
        words.insert(-1 if "label_accuracy" in record else len(words), f"changed {record['relabelled']:,}")
        return [*words, f"{record['images_per_second']:,.0f} examples/s"]


class Lines(Shown):
    """One line an epoch, or every few seconds where epochs are short; for logs and pipes."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.last = -LINE_EVERY

    def epoch_done(self, record: dict[str, Any]) -> None:
        super().epoch_done(record)
        final = self.clock.done == self.clock.total
        if final or time.monotonic() - self.last >= LINE_EVERY:
            self.last = time.monotonic()
            ends = "done" if final else f"{spoken(self.clock.left())} left"
            self.note(f"{self.place(record['epoch'])}: {', '.join([*self.figures(), ends])}")

    def note(self, line: str) -> None:
        say(f"{self.title}: {line}\n" if self.title else f"{line}\n")


class Lively(Shown):
    """A bar over the whole run with the figures of its last epoch underneath."""

    def __init__(self, live: Live, title: str) -> None:
        super().__init__(title)
        self.live = live

    def started(self, phases: Sequence[Phase], epoch: int) -> None:
        super().started(phases, epoch)
        # Asked for anew at each refresh, in the display's own thread: training never waits for it.
        self.live.get_renderable = self.render  # type: ignore[method-assign]

    def note(self, line: str) -> None:
        self.live.console.print(Text(f"{self.title}: {line}" if self.title else line, style="dim"))

    def render(self) -> RenderableType:
        """Draw the display as it should be now."""
        clock = self.clock
        bar = ProgressBar(total=max(clock.total, 1), completed=clock.done + clock.part, width=30)
        top = Table.grid(padding=(0, 2))
        top.add_row(Text(self.title, style="bold"), self.place(clock.done), bar, f"{spoken(clock.left())} left")
        if not self.record:
            return top
        return Group(top, Text("  " + " · ".join(self.figures()), style="cyan"))
