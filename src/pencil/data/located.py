"""Finds a run's examples again in its data; code that only the run folder names is never run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pencil import plugins
from pencil.config import DataSettings
from pencil.config.own_code import MARK
from pencil.data.dataset import Dataset, Inputs
from pencil.data.load import HUGGING_FACE, PACKAGE, read
from pencil.errors import PencilError


def read_dataset(own: DataSettings, *, source: str = "", root: str = "") -> Dataset:
    """Read a run's data again, where it was or where the user says it is now; labels and noise are left out."""
    if not source and MARK in own.source:
        raise PencilError(
            f"this run's data is code of its own; if you trust it, give it again: --source {shlex.quote(own.source)}"
        )
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


def from_home(own: DataSettings, homes: Sequence[Path]) -> DataSettings:
    """Return a run's settings with the files of its data as they are reached from here.

    `homes` are folders that the run may have been started in: relative paths are looked for there, then here.
    """
    if own.source.startswith(HUGGING_FACE):
        source = HUGGING_FACE + reached(own.source.removeprefix(HUGGING_FACE), homes)
    else:
        # Code is taken from where the user who names it again says, never from where a run folder says.
        source = own.source if _is_named(own.source) else reached(own.source, homes)
    model, colon, argument = own.noise.partition(":")
    noise = f"{model}:{reached(argument, homes)}" if colon and model == "matrix" else own.noise
    return replace(own, source=source, root=reached(own.root, homes), labels=reached(own.labels, homes), noise=noise)


def reached(path: str, homes: Sequence[Path]) -> str:
    """Return a path, FILE or FILE:key, from the first home where there is such a file."""
    for home in homes if path else ():
        if any(file and os.path.exists(home / file) for file in (path, path.rpartition(":")[0])):
            return path if home.samefile(".") else str(home / path)
    return path


def relocated(own: DataSettings, source: str, root: str) -> DataSettings:
    """Return the settings with the place that the user gives."""
    if source:
        return replace(own, source=source, root=root or own.root)
    if not root:
        return own
    if _is_named(own.source):
        return replace(own, root=root)
    library = HUGGING_FACE if own.source.startswith(HUGGING_FACE) else ""
    before = Path(own.source.removeprefix(library))
    inside = Path(root) / before.name
    if not inside.exists() and before.is_file() and Path(root).is_dir():
        # A table that is where it was, while the images it names are elsewhere.
        return replace(own, root=root)
    # A folder or file that has moved, or a copy: either its new place, or the folder it lies in now.
    return replace(own, source=f"{library}{inside if inside.exists() else root}")


def _is_named(source: str) -> bool:
    return source in plugins.names(PACKAGE) or MARK in source


class Located:
    """The inputs of a run's rows, wherever they lie in the data; of all its rows where they are `whole`."""

    def __init__(self, dataset: Dataset, ids: list[str], *, whole: bool = False) -> None:
        sets = [part for part in (dataset.train, dataset.held_out) if part is not None]
        self._inputs: list[Inputs] = [part.inputs for part in sets]
        self._texts = [part.texts or {} for part in sets]
        places = dict(_places([part.ids for part in sets]))
        lost = [name for name in ids if name not in places]
        if lost:
            raise PencilError(
                f'{len(lost)} of the run\'s {len(ids)} examples are not in its data ("{lost[0]}" is the first): it has'
                " changed or is another; give the run's own data by --root DIR or --source SOURCE."
            )
        if whole and dataset.facts.get("by_place") and len(places) != len(ids):
            raise PencilError(
                f"the run had {len(ids)} examples, known by their places alone, and its data now has {len(places)}: it"
                " has changed or is another; give the run's own data by --root DIR or --source SOURCE."
            )
        self._places = [places[name] for name in ids]

    def __len__(self) -> int:
        return len(self._places)

    def read(self, row: int) -> NDArray[np.generic]:
        """Return the raw input of one row: an image or a row of features."""
        part, position = self._places[row]
        found: NDArray[np.generic] = self._inputs[part].read(np.array([position], dtype=np.int64))[0]
        return found

    def texts(self, row: int) -> list[tuple[str, str]]:
        """Return what people see of one row beside its input, by name."""
        part, position = self._places[row]
        return [(name, str(text[position])) for name, text in self._texts[part].items()]


def _places(ids: list[NDArray[np.str_]]) -> Iterator[tuple[str, tuple[int, int]]]:
    for part, names in enumerate(ids):
        for position, name in enumerate(names.tolist()):
            yield name, (part, position)
