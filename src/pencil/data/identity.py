"""Ids that survive re-ordering, and the fingerprint by which a run knows its data again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data.dataset import UNLABELLED, Dataset, Examples
from pencil.data.spaced import in_chunks, is_stored, nbytes, spaced
from pencil.data.tensors import plain
from pencil.errors import PencilError

_HASHED = 2**28
"""Bytes of each set's inputs that are hashed."""
_COMPARED = 2**32
"""Bytes of inputs among which copies are looked for; more would take longer to read than it is worth."""

BY_THEMSELVES = 0.1
"""Share of the examples with an equal input, from which on other labels of such inputs show that they are no copies."""


def content_ids(inputs: Iterable[NDArray[Any]]) -> NDArray[np.str_]:
    """Name each row of an array by a hash of its bytes; the second of two equal rows ends in "-2"."""
    seen: Counter[str] = Counter()
    ids = []
    for row in inputs:
        name = blake2b(np.ascontiguousarray(row).tobytes(), digest_size=8).hexdigest()
        seen[name] += 1
        ids.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return np.array(ids, dtype=np.str_)


def find_copies(examples: Examples) -> NDArray[np.int64]:
    """Return the position of the first example with the same input and label as each: its own, where it is no copy.

    Equal inputs whose labels differ are no copies, and where many are so, neither are the others: with few columns
    examples are alike by themselves.
    """
    inputs, given = examples.inputs, examples.given
    own = np.arange(len(given))
    if not len(own) or not is_stored(inputs) or nbytes(inputs) > _COMPARED:
        return own
    alike = np.unique(np.concatenate([_digests(chunk) for chunk in in_chunks(inputs, own)]), return_inverse=True)[1]
    known = given != UNLABELLED
    first, lowest, highest = (np.full(len(own), start) for start in (len(own), given.max(), UNLABELLED))
    np.minimum.at(first, alike[known], own[known])
    np.minimum.at(lowest, alike[known], given[known])
    np.maximum.at(highest, alike[known], given[known])
    agree, several = (lowest == highest)[alike] & known, np.bincount(alike[known], minlength=len(own))[alike] > 1
    if (known & several & ~agree).sum() > BY_THEMSELVES * (known & several).sum():
        return own
    return np.where(agree, first[alike], own)


def _digests(rows: NDArray[Any]) -> NDArray[np.uint64]:
    found = [blake2b(np.ascontiguousarray(row).tobytes(), digest_size=8).digest() for row in rows]
    return np.frombuffer(b"".join(found), dtype=np.uint64)


def given_ids(ids: Sequence[Any] | NDArray[Any], count: int) -> NDArray[np.str_]:
    """Take a user's own ids, one for each example, all different."""
    named = np.array(listed(ids, "id"), dtype=np.str_)
    if len(named) != count:
        raise PencilError(f"there are {len(named)} ids for {count} examples; give one each.")
    check_unique(named)
    return named


def listed(values: Any, what: str) -> list[str]:
    """Return a list of names as texts; a table of them, or one alone, is none."""
    values = plain(values)
    if getattr(values, "ndim", 1) != 1:
        raise PencilError(f"{what}s have shape {tuple(values.shape)}; give a list of them.")
    return [as_text(value, what) for value in values]


def as_text(name: Any, what: str) -> str:
    """Return a name, or what else it is, as text; bytes are UTF-8."""
    try:
        return name.decode() if isinstance(name, bytes) else str(name)
    except UnicodeDecodeError as error:
        raise PencilError(f"the {what} {bytes(name)!r} is not UTF-8 text; give {what}s as texts.") from error


def check_unique(ids: NDArray[np.str_]) -> None:
    """Refuse ids that occur twice, naming one."""
    values, counts = np.unique(ids, return_counts=True)
    if len(values) < len(ids):
        twice = values[counts > 1][0]
        raise PencilError(f'the id "{twice}" occurs {counts[counts > 1][0]} times; remove or rename all but one.')


def inputs_digest(dataset: Dataset) -> str:
    """Hash what the features are called and the inputs of every set, of very large ones evenly spaced examples.

    Inputs that are read by calling a user's code are left out: they may be drawn anew each time.
    """
    digest = blake2b(digest_size=16)
    digest.update(repr((dataset.preparation.raw_shape, dataset.facts.get("features"))).encode())
    for examples in (dataset.train, dataset.held_out, dataset.test):
        if examples is not None and is_stored(examples.inputs):
            for chunk in spaced(examples.inputs, most_bytes=_HASHED):
                digest.update(np.ascontiguousarray(chunk).data)
    return digest.hexdigest()


def fingerprint(dataset: Dataset) -> str:
    """Hash the ids and given labels of every set, in order."""
    digest = blake2b(digest_size=16)
    digest.update("\0".join(dataset.class_names).encode())
    for name in ("train", "held_out", "test"):
        examples: Examples | None = getattr(dataset, name)
        if examples is not None:
            digest.update(f"\0{name} {len(examples)}\0".encode())
            digest.update("\0".join(examples.ids.tolist()).encode())
            digest.update(examples.given.astype("<i8").tobytes())
            if examples.distribution is not None:
                digest.update(examples.distribution.astype("<f4").tobytes())
    return digest.hexdigest()
