"""What `--help` of a command says beside its options: the description from its docstring, and the exit codes."""

import inspect
from collections.abc import Callable

END = "Exit codes: 0 done; 2 the input is wrong, one line says what and how to mend it; 1 it failed otherwise"
STOPPED = "130 stopped by Ctrl-C, 143 by SIGTERM"
RESUMABLE = f"{STOPPED}; a stopped run goes on with --resume"
SOME_FAILED = f"also 1 where one of the runs failed; {STOPPED}; the same command goes on"
AS_IT_STANDS = "\b"
"""Begins a paragraph whose lines are kept: the examples."""


def description(command: Callable[..., None]) -> str:
    """Return a command's docstring with each paragraph on one line, so that it fills any terminal."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(text if text.startswith(AS_IT_STANDS) else " ".join(text.split()) for text in paragraphs)


def exit_codes(ends: str) -> str:
    """Return the last line of the help: the codes that a command ends with."""
    return f"{END}; {ends}."
