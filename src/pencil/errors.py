"""Errors that a person can mend."""

import difflib
from collections.abc import Iterable

from pencil.spelling import spelled

TOO_LARGE = "it is larger than the limit on file sizes; raise that (ulimit -f unlimited)"
"""What to say of a file that the system does not let grow (EFBIG)."""


class PencilError(Exception):
    """Something in the input is wrong: one line that names it and the remedy; exit code 2.

    The line is written with the options of the shell; who calls from Python reads of arguments instead.
    """

    exit_code = 2

    def __init__(self, line: str) -> None:
        super().__init__(spelled(line))


class NoSuchSource(PencilError):
    """The data is not where it is said to be."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ' Did you mean "x"?' for up to three known words that begin so, else the closest, else the list of all."""
    names = sorted(known)
    longer = sorted((name for name in names if len(word) >= 3 and name.startswith(word)), key=len)[:3]
    likely = longer or difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if likely:
        quoted = [f'"{name}"' for name in likely]
        return f" Did you mean {' or '.join(quoted)}?"
    return f" Known: {', '.join(names)}." if names else ""
