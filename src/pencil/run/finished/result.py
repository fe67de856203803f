"""What a run gives back in Python."""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from torch import nn

from pencil.backbones import Own
from pencil.config import from_document, read_toml
from pencil.data.labels import terms_in
from pencil.results.folder import RunFolder
from pencil.results.read import Run, read_run
from pencil.run.finished.network import load_network
from pencil.run.finished.predict import predict_with
from pencil.run.finished.view import as_html
from pencil.run.planning.passing import PassingFolder
from pencil.spelling import spelled


@dataclass(eq=False)
class Result:
    """A trained network and the labels it believes; everything else is in the run folder."""

    model: nn.Module
    """The trained network, in evaluation mode; it takes prepared inputs (see preprocessing.json)."""
    folder: Path
    kept: PassingFolder | None = field(default=None, repr=False)
    """Keeps a run folder that nobody named alive as long as the result."""
    terms: NDArray[Any] | None = field(default=None, repr=False)
    """[C] what the labels that were given call each class; None: they count classes from 0, in the run's order."""

    def __fspath__(self) -> str:
        """Return the run's folder, so that a result can be given wherever a run is asked for."""
        return str(self.folder)

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

    def predict(self, source: Any) -> NDArray[Any]:
        """Return the class of each new example, in the terms of `corrected_labels`.

        The source is an array or a tensor as in training, a data frame, or whatever else `pencil.fit` takes; its labels
        may be missing. Of one with sets of its own the test set is predicted.
        """
        return self._in_terms(self._shares(source).argmax(axis=1))

    def predict_proba(self, source: Any) -> NDArray[np.float32]:
        """Return [n, C], the probability of each class for each new example, in the order of `class_names`."""
        return self._shares(source)

    def _shares(self, source: Any) -> NDArray[np.float32]:
        found = predict_with(self.model, RunFolder.open(self.folder), source)
        for note in found.notes:
            warnings.warn(spelled(note), stacklevel=3)
        return found.probabilities

    @property
    def class_names(self) -> tuple[str, ...]:
        """[C] what the classes are called in the run's files."""
        return self.run.classes

    @property
    def label_distributions(self) -> NDArray[np.float32]:
        """[n, C] y^d of each example, in the order of `labels`."""
        return self.run.distributions

    @property
    def corrected_labels(self) -> NDArray[Any]:
        """[n] the label believed of each example, in the terms that labels were given in: names, numbers or classes."""
        return self._in_terms(np.asarray(self.labels["corrected"]).astype(np.int64))

    def _in_terms(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        return numbers if self.terms is None else self.terms[numbers]

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record an epoch."""
        return self.run.history

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return as_html(self.run)


def load(run: str | Path, *, backbone: str | Own = "") -> Result:
    """Open a finished run, however it was trained, to use its network and its labels.

    Classes are called by their names, or by numbers where all names are. `backbone` is the network's code again, where
    the run was trained with a network of the user's own.
    """
    folder = RunFolder.open(run)
    model = load_network(folder, from_document(read_toml(folder.config)), backbone=backbone)
    result = Result(model, folder.path)
    result.terms = terms_in(result.class_names)
    return result
