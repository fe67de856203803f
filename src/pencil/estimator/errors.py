"""Errors in the shape that scikit-learn's tools expect."""

from collections.abc import Iterator
from contextlib import contextmanager

from pencil.errors import PencilError


class InvalidInput(PencilError, ValueError):
    """A PencilError that is also the ValueError which scikit-learn's tools look for."""


@contextmanager
def value_errors() -> Iterator[None]:
    """Raise what is wrong with parameters or data as a ValueError, too."""
    try:
        yield
    except InvalidInput:
        raise
    except PencilError as error:
        raise InvalidInput(str(error)) from error
