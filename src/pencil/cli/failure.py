"""How a command ends when something goes wrong: one line on stderr and an exit code; bugs keep their traceback."""

import errno
import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, ParamSpec

import typer

from pencil.errors import TOO_LARGE, PencilError
from pencil.lines import in_one_line

P = ParamSpec("P")

BAD_INPUT = 2
LONGEST = 1000
"""Characters of a line."""
INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM
UNREAD = 128 + 13
"""As by SIGPIPE, which Windows does not have: the reader (`head`, say) has seen enough."""
MEMORY = (
    "memory ran out; use smaller batches (--set optimizer.batch_size=32), or leave the data where it is "
    "(--set hardware.resident=no)."
)


class Terminated(BaseException):
    """The process was asked to end (SIGTERM)."""


def one_line(text: str) -> None:
    """Write an error as a single line on stderr."""
    words = in_one_line(" ".join(text.split()))
    # A damaged file's endless word is cut out of the middle: the file's name stands in front, the remedy behind.
    shown = words if len(words) <= LONGEST else f"{words[: LONGEST // 2]} … {words[-LONGEST // 2 :]}"
    say(f"pencil: {shown}\n")


def say(text: str) -> None:
    """Write on stderr; where that is refused (its reader is gone, its disk full) the command goes on unheard."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn what a person or the system caused into one line and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with _signals() as heard:
            try:
                _refuse_lost_place()
                command(*args, **kwargs)
                sys.stdout.flush()
                return
            except typer.Exit:
                raise
            except BaseException as error:
                heard.ending = True
                code = explain(error)
                if code is None and heard.came:  # A library that is stopped while it is imported fails in its own ways.
                    code = explain(heard.came[-1])
                if code is None:
                    raise
            finally:
                give_up_unwritten()
        raise typer.Exit(code)

    return run


def _refuse_lost_place() -> None:
    """Refuse to work in a folder that was removed: libraries end the process there, with lines of their own."""
    try:
        os.getcwd()
    except OSError:
        raise PencilError(
            "the folder that this command was started in is gone; go to one that exists (cd) and start again."
        ) from None


def give_up_unwritten() -> None:
    """Let what cannot be written go nowhere: at exit it would change the code and add lines of Python's own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError), open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())


def explain(error: BaseException) -> int | None:
    """Say what happened and return the exit code; None where it is a bug."""
    if isinstance(error, PencilError):
        one_line(str(error))
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        return UNREAD
    if isinstance(error, KeyboardInterrupt | Terminated):
        one_line(str(error) or "stopped.")
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else TERMINATED
    if _is_out_of_memory(error):
        one_line(MEMORY)
        return 1
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        remedy = TOO_LARGE if error.errno == errno.EFBIG else "check the path, its permissions and the space left"
        one_line(f"{place}{error.strerror or error}; {remedy}.")
        return BAD_INPUT
    return None


def _is_out_of_memory(error: BaseException) -> bool:
    # By name, since torch may not even be imported; its CPU allocator has no type of its own.
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return named or (isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error))


@dataclass
class _Heard:
    """What signals raised so far."""

    came: list[BaseException] = field(default_factory=list)
    ending: bool = False
    """Whether the command is at its last line, which no other signal may cut off."""


@contextmanager
def _signals() -> Iterator[_Heard]:
    """Let SIGTERM end the command in order, as Ctrl-C does: temporary files are removed, locks given back."""
    heard = _Heard()

    def end(number: int, frame: Any) -> None:
        heard.came.append(KeyboardInterrupt() if number == signal.SIGINT else Terminated())
        if not heard.ending:
            raise heard.came[-1]

    before = {signal.SIGTERM: signal.getsignal(signal.SIGTERM)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # A shell lets what runs behind it ignore Ctrl-C.
        before[signal.SIGINT] = signal.default_int_handler
    try:
        for number in before:
            signal.signal(number, end)
    except ValueError:  # Not in the main thread: signals are someone else's.
        yield heard
        return
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
