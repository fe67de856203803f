"""Reading a run back: nothing is unpickled, no code named in a run folder is imported, no torch is needed."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pencil.results.arrays import Arrays, load_weights
from pencil.results.distributions import read_distribution_rows, read_distributions
from pencil.results.documents import read_classes, read_object
from pencil.results.folder import RunFolder, Status
from pencil.results.history import History
from pencil.results.labels_table import read_labels
from pencil.results.summary import read_summary


@dataclass(frozen=True)
class Run:
    """A run on disk; each part is read when it is first asked for."""

    folder: RunFolder
    status: Status

    @cached_property
    def result(self) -> dict[str, Any]:
        """The summary."""
        return read_summary(self.folder.result)

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """One record an epoch."""
        return History(self.folder.history).read()

    @cached_property
    def labels(self) -> pa.Table:
        """One row an example."""
        return read_labels(self.folder.labels)

    @cached_property
    def distributions(self) -> NDArray[np.float32]:
        """[n, c] the learned label distributions, in the order of `labels`."""
        return read_distributions(self.folder.label_distributions)

    def distribution_rows(self, start: int, stop: int) -> NDArray[np.float32]:
        """Read some consecutive rows of the label distributions alone."""
        return read_distribution_rows(self.folder.label_distributions, start, stop)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes' names."""
        return read_classes(self.folder.classes)

    @cached_property
    def preprocessing(self) -> dict[str, Any]:
        """How raw inputs become what the network sees."""
        return read_object(self.folder.preprocessing)

    @cached_property
    def split(self) -> dict[str, Any]:
        """How many examples went where, and the data's fingerprint."""
        return read_object(self.folder.split)

    def weights(self) -> Arrays:
        """Read the network's weights."""
        return load_weights(self.folder.model)


def read_run(path: str | Path) -> Run:
    """Open a run folder for reading."""
    folder = RunFolder.open(path)
    return Run(folder, folder.status())
