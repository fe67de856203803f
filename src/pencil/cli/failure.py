"""How a command ends when something goes wrong: one line on stderr and an exit code; bugs keep their traceback."""

import errno
import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
        with _termination():
            try:
                command(*args, **kwargs)
                sys.stdout.flush()
                return
            except typer.Exit:
                raise
            except BaseException as error:
                code = _report(error)
                if code is None:
                    raise
            finally:
                _give_up_unwritten()
        raise typer.Exit(code)

    return run


def _give_up_unwritten() -> None:
    """Let what cannot be written go nowhere: at exit it would change the code and add lines of Python's own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError), open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())


def _report(error: BaseException) -> int | None:
    """Say what happened and return the exit code; None where it is a bug."""
    if isinstance(error, PencilError):
        one_line(str(error))
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        return 128 + signal.SIGPIPE  # The reader (`head`, say) has seen enough.
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


@contextmanager
def _termination() -> Iterator[None]:
    """Let SIGTERM end the command in order: temporary files are removed, locks given back."""

    def end(number: int, frame: Any) -> None:
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # Not in the main thread: signals are someone else's.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
