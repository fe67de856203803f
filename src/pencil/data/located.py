"""Finds a run's examples again in its data; code that only the run folder names is never run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pencil import plugins
from pencil.config import DataSettings
from pencil.data.dataset import Dataset, Inputs
from pencil.data.load import PACKAGE, read
from pencil.errors import PencilError


def read_dataset(own: DataSettings, *, source: str = "", root: str = "") -> Dataset:
    """Read a run's data again, where it was or where the user says it is now; labels and noise are left out."""
    if not source and ".py:" in own.source:
        raise PencilError(f"this run's data is code of its own; if you trust it, give it again: --source {own.source}")
    if not source and own.source.startswith("<"):
        raise PencilError(
            "this run's data was given in Python and is in no file; save it with numpy.savez(FILE, x=x, y=y) and give"
            " --source FILE.npz."
        )
    settings = relocated(own, source, root)
    try:
        return read(settings, labels_needed=False)
    except PencilError as error:
        place = "" if source or root else " Where the data has moved, give its place: --root DIR or --source SOURCE."
        raise PencilError(f"the run's data cannot be read: {error}{place}") from error


def relocated(own: DataSettings, source: str, root: str) -> DataSettings:
    """Return the settings with the place that the user gives."""
    if source:
        return replace(own, source=source, root=root or own.root)
    if not root:
        return own
    named = own.source in plugins.names(PACKAGE) or ".py:" in own.source
    if named or Path(own.source).exists():
        return replace(own, root=root)
    # A folder or file that has moved: either its new place, or the folder it lies in now.
    inside = Path(root) / Path(own.source).name
    return replace(own, source=str(inside if inside.exists() else root))


class Located:
    """The inputs of a run's rows, wherever they lie in the data."""

    def __init__(self, dataset: Dataset, ids: list[str]) -> None:
        sets = [part for part in (dataset.train, dataset.held_out) if part is not None]
        self._inputs: list[Inputs] = [part.inputs for part in sets]
        places = dict(_places([part.ids for part in sets]))
        lost = [name for name in ids if name not in places]
        if lost:
            raise PencilError(
                f'{len(lost)} of the run\'s {len(ids)} examples are not in its data ("{lost[0]}" is the first): it has'
                " changed or is another; give the run's own data by --root DIR or --source SOURCE."
            )
        self._places = [places[name] for name in ids]

    def __len__(self) -> int:
        return len(self._places)

    def read(self, row: int) -> NDArray[np.generic]:
        """Return the raw input of one row: an image or a row of features."""
        part, position = self._places[row]
        found: NDArray[np.generic] = self._inputs[part].read(np.array([position], dtype=np.int64))[0]
        return found


def _places(ids: list[NDArray[np.str_]]) -> Iterator[tuple[str, tuple[int, int]]]:
    for part, names in enumerate(ids):
        for position, name in enumerate(names.tolist()):
            yield name, (part, position)
