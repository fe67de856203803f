"""What a run gives back in Python."""

import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from torch import nn

from pencil.results.read import Run, read_run
from pencil.run.view import as_html


@dataclass(eq=False)
class Result:
    """A trained network and the labels it believes; everything else is in the run folder."""

    model: nn.Module
    """The trained network, in evaluation mode; it takes prepared inputs (see preprocessing.json)."""
    folder: Path
    kept: tempfile.TemporaryDirectory[str] | None = field(default=None, repr=False)
    """Keeps a run folder that nobody named alive as long as the result."""
    terms: NDArray[Any] | None = field(default=None, repr=False)
    """[C] what the labels that were given call each class; None: they count classes from 0, in the run's order."""

    @cached_property
    def run(self) -> Run:
        return read_run(self.folder)

    @property
    def summary(self) -> dict[str, Any]:
        """The fields of result.json."""
        return self.run.result

    @property
    def labels(self) -> pa.Table:
        """One row an example: given, corrected, confidence, quality, decision, …"""
        return self.run.labels

    @property
    def label_distributions(self) -> NDArray[np.float32]:
        """[n, C] y^d of each example, in the order of `labels`."""
        return self.run.distributions

    @property
    def corrected_labels(self) -> NDArray[Any]:
        """[n] the label believed of each example, in the terms that labels were given in: names, numbers or classes."""
        corrected = np.asarray(self.labels["corrected"]).astype(np.int64)
        return corrected if self.terms is None else self.terms[corrected]

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record an epoch."""
        return self.run.history

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return as_html(self.run)
