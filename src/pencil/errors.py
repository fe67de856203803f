"""Errors that a person can mend."""

import difflib
from collections.abc import Iterable

TOO_LARGE = "it is larger than the limit on file sizes; raise that (ulimit -f unlimited)"
"""What to say of a file that the system does not let grow (EFBIG)."""


class PencilError(Exception):
    """Something in the input is wrong: one line that names it and the remedy; exit code 2."""

    exit_code = 2


class NoSuchSource(PencilError):
    """The data is not where it is said to be."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ' Did you mean "x"?' for the closest known word, else the list of all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if close:
        return f' Did you mean "{close[0]}"?'
    return f" Known: {', '.join(names)}." if names else ""
