"""Progress is honest about time and place, live on a terminal and sparing elsewhere."""

import errno
import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from pencil.cli import display, timing
from pencil.config import Schedule
from pencil.types import Phase

PHASES = [
    Phase(name, epochs, Schedule.parse("0.1"), None) for name, epochs in (("backbone", 2), ("labels", 3), ("tuning", 1))
]


class Time:
    """A clock that is set by hand."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[Time]:
    hand = Time()
    monkeypatch.setattr(timing.time, "monotonic", hand.monotonic)
    yield hand


def record(epoch: int, **more: Any) -> dict[str, Any]:
    figures = {"loss": 1.25, "train_accuracy": 40.0, "relabelled": 1234, "images_per_second": 5678.0}
    return {"epoch": epoch, "phase": "labels", **figures, **more}


def run_epoch(shown: display.Shown, time: Time, epoch: int, seconds: float) -> None:
    for step in (1, 2):
        time.now += seconds / 2
        shown.stepped(epoch, step, 2)
    shown.epoch_done(record(epoch))


def test_time_left_is_that_of_the_epochs_to_come(time: Time) -> None:
    shown = display.Lines("")
    shown.started(PHASES, 0)
    assert shown.clock.left() is None
    time.now += 5
    shown.stepped(0, 1, 2)
    assert shown.clock.left() == pytest.approx(5 / 0.5 * 5.5)
    time.now += 5
    shown.epoch_done(record(0))
    run_epoch(shown, time, 1, seconds=4)
    run_epoch(shown, time, 2, seconds=4)
    # The slow first epoch is left out as soon as there is another one: three of 4 s are to come.
    assert shown.clock.left() == pytest.approx(12)
    time.now += 1
    assert shown.clock.left() == pytest.approx(11)


def test_time_left_of_a_run_that_went_on_in_the_middle_of_an_epoch(time: Time) -> None:
    shown = display.Lines("")
    shown.started(PHASES, 4)
    time.now += 1
    shown.stepped(4, 10, 10)
    shown.epoch_done(record(4))
    assert shown.clock.left() == pytest.approx(10)


def test_place_names_phase_and_epoch() -> None:
    shown = display.Lines("")
    shown.started(PHASES, 0)
    assert shown.place(0) == "phase 1/3 backbone, epoch 1/6"
    assert shown.place(4) == "phase 2/3 labels, epoch 5/6"
    assert shown.place(6) == "phase 3/3 tuning, epoch 6/6"


def test_figures_show_only_what_is_known() -> None:
    shown = display.Lines("")
    shown.record = record(0)
    assert shown.figures() == ["loss 1.250", "given labels 40.0%", "changed 1,234", "5,678 examples/s"]
    shown.record = record(0, held_out_accuracy=50.0, test_accuracy=60.0, label_accuracy=70.0)
    assert shown.figures()[2:-1] == ["held out 50.0%", "test 60.0%", "changed 1,234", "correct labels 70.0%"]


def test_fast_epochs_give_few_lines_and_the_last_one(time: Time, capsys: pytest.CaptureFixture[str]) -> None:
    shown = display.Lines("PENCIL")
    shown.started(PHASES, 0)
    for epoch in range(6):
        run_epoch(shown, time, epoch, seconds=0.8)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1].split("epoch ")[1] for line in lines] == ["1/6", "4/6", "6/6"]
    assert lines[0].startswith("PENCIL: phase 1/3") and lines[-1].endswith("done")


def test_the_live_display_draws_bar_and_figures(time: Time) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=160)
    with Live(console=console, auto_refresh=False) as live:
        shown = display.Lively(live, "PENCIL")
        shown.started(PHASES, 0)
        run_epoch(shown, time, 0, seconds=10)
        shown.note("a line for the log")
        live.refresh()
    text = stream.getvalue()
    for words in ("PENCIL", "phase 1/3 backbone, epoch 2/6", "━", "0:50 left", "changed 1,234", "a line for the log"):
        assert words in text


@pytest.mark.parametrize(("seconds", "text"), [(None, "–"), (42.4, "0:42"), (725, "12:05"), (12_000, "3 h 20 min")])
def test_times_are_spoken(seconds: float | None, text: str) -> None:
    assert timing.spoken(seconds) == text


def test_where_nothing_came_to_a_number_there_is_no_loss() -> None:
    shown = display.Shown("")
    shown.started(PHASES, 0)
    shown.epoch_done(record(0, loss=0.0, nonfinite=76))
    assert shown.figures()[0] == "loss no number"
    shown.epoch_done(record(1, loss=0.0, nonfinite=0))
    assert shown.figures()[0] == "loss 0.000"


def test_a_terminal_that_was_closed_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Closed())
    with display.display() as shown:
        assert isinstance(shown, display.Lively)
        shown.started(PHASES, 0)
        shown.note("stopping")
