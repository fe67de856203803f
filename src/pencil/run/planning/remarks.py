"""What a person should know of the data before training: each a line, none of them an error."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pencil.data import Dataset, Examples
from pencil.data.dataset import UNLABELLED
from pencil.data.labels import is_number
from pencil.lines import first_of

FEW_CLASSES = 20
"""So many may have an example each in data that is only small."""
MANY_COPIES = 0.1
"""Share of the examples; of a few rows of a table some may be alike by themselves."""
NAMED = 3
"""Classes whose names a line has."""


def remarks(dataset: Dataset) -> Iterator[str]:
    """Yield lines on what was left out, or done otherwise, and on labels that may not be what they are meant to be."""
    found = (dataset.facts.get(name) for name in ("left_out", "missing", "dark", "sided", "own_held_out"))
    yield from (str(line) for line in found if line)
    lines = _unlabelled(dataset), _copied(dataset), _hardly_classes(dataset), _alike(dataset), _never_given(dataset)
    yield from filter(None, lines)


def _unlabelled(dataset: Dataset) -> str:
    missing, count = int((dataset.train.given == UNLABELLED).sum()), len(dataset.train)
    are = "is" if missing == 1 else "are"
    return f"{missing:,} of {count:,} training labels {are} missing (empty, or -1 in arrays)." if missing else ""


def _copied(dataset: Dataset) -> str:
    """Return a line on copies, as data that was balanced by repeating examples has them."""
    copied, count = dataset.facts.get("copies", 0), len(dataset.train)
    if copied < MANY_COPIES * count:
        return ""
    return (
        f"{copied:,} of {count:,} training examples have the input and the label of another one. A wrong label that"
        " stands there more than once is the sooner learned by heart; if these are copies, leave them out."
    )


def _hardly_classes(dataset: Dataset) -> str:
    """Return a line on classes of which most have one example: a price or an id tells examples apart, not kinds."""
    given = np.concatenate([_known(part.given) for part in _sets(dataset)])
    alone = int((np.bincount(given, minlength=dataset.num_classes) == 1).sum())
    if dataset.num_classes <= FEW_CLASSES or 2 * alone <= dataset.num_classes:
        return ""
    alike = "a quantity" if all(map(is_number, dataset.class_names)) else "names of the examples"
    remedy = ", or turn it into classes such as low, middle and high" if alike == "a quantity" else ""
    return (
        f"{alone:,} of {dataset.num_classes:,} classes have one example alone, so that the label looks like {alike}; if"
        f" it is, take another label (of a table: --set data.options.label=NAME){remedy}."
    )


def _alike(dataset: Dataset) -> str:
    """Return a line on classes that may be one; of single letters small and capital ones are often two."""
    fellows: dict[str, list[str]] = {}
    for name in dataset.class_names:
        fellows.setdefault(name.casefold(), []).append(name)
    found = [names for key, names in fellows.items() if len(names) > 1 and len(key) > 1]
    if not found:
        return ""
    more = f" (and {len(found) - 1:,} more such)" if len(found) > 1 else ""
    named = " and ".join(f'"{name}"' for name in found[0])
    return f"the classes {named}{more} differ only in capitals; if they are one, spell them alike."


def _never_given(dataset: Dataset) -> str:
    """Return a line on classes that true labels name and given ones do not; injected noise may have taken the last."""
    if dataset.facts.get("noise"):
        return ""
    sets = _sets(dataset)
    true = {int(number) for part in sets if part.clean is not None for number in np.unique(_known(part.clean))}
    found = sorted(true.difference(*map(_given_classes, sets)))
    if not found:
        return ""
    named = first_of([f'"{dataset.class_names[number]}"' for number in found], NAMED)
    return (
        f"only true labels name {named}, and each is a class all the same; where one is misspelt, mend the true labels."
    )


def _given_classes(part: Examples) -> set[int]:
    """Return the classes that a set's labels name, shares of soft ones and single votes too."""
    found = set(np.unique(_known(part.given)).tolist())
    return found if part.distribution is None else found | set(np.flatnonzero(part.distribution.any(axis=0)).tolist())


def _sets(dataset: Dataset) -> list[Examples]:
    return [part for part in (dataset.train, dataset.held_out, dataset.test) if part is not None]


def _known(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    known: NDArray[np.int64] = labels[labels != UNLABELLED]
    return known
