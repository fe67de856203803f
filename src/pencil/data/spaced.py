"""Reads inputs in chunks of bounded memory; of very many, evenly spaced ones."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data.dataset import Inputs, Selection

_CHUNK_BYTES = 2**25


def is_stored(inputs: Inputs) -> bool:
    """Say whether inputs lie in an array; others are each a call of the user's code."""
    return (inputs.base if isinstance(inputs, Selection) else inputs).array is not None


def nbytes(inputs: Inputs) -> int:
    """Return how many bytes all inputs have."""
    return len(inputs) * _example_bytes(inputs)


def spaced(inputs: Inputs, *, most_bytes: int, most: int | None = None) -> Iterator[NDArray[Any]]:
    """Yield the inputs, or evenly spaced ones where they are more than so many bytes or examples."""
    yield from in_chunks(inputs, places(inputs, most_bytes=most_bytes, most=most))


def places(inputs: Inputs, *, most_bytes: int, most: int | None = None) -> NDArray[np.int64]:
    """Return where the inputs lie, or evenly spaced ones where they are more than so many bytes or examples."""
    count = len(inputs)
    most = max(most_bytes // _example_bytes(inputs), 1) if most is None else most
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def in_chunks(inputs: Inputs, places: NDArray[np.int64]) -> Iterator[NDArray[Any]]:
    """Yield the inputs of these places."""
    step = max(_CHUNK_BYTES // _example_bytes(inputs), 1)
    for start in range(0, len(places), step):
        yield inputs.read(places[start : start + step])


def _example_bytes(inputs: Inputs) -> int:
    return max(inputs.read(np.zeros(1, dtype=np.int64)).nbytes, 1) if len(inputs) else 1
