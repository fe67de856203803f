"""A finished run's labels, read and checked once for every form of export."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pencil.config import Settings, from_document, read_toml
from pencil.data.located import from_home
from pencil.results.decisions import reviewed
from pencil.results.final import final_labels
from pencil.results.labels_table import check_labels
from pencil.results.read import read_run


@dataclass(frozen=True, eq=False)
class Labels:
    """One row an example, in the order of labels.parquet."""

    settings: Settings
    kind: str
    """"images", "rows" or "tensors"."""
    classes: tuple[str, ...]
    table: pa.Table
    """labels.parquet."""
    final: pa.Table
    """The labels the run ends with, people's decisions first."""

    def whole(self, name: str) -> NDArray[np.int64]:
        """Return a column of class numbers, −1 where there is none."""
        column = self.final[name] if name == "final" else self.table[name]
        numbers: NDArray[np.int64] = np.asarray(column.fill_null(-1)).astype(np.int64)
        return numbers

    @cached_property
    def ids(self) -> list[str]:
        """The examples' names."""
        names: list[str] = self.table["id"].to_pylist()
        return names

    @property
    def by_person(self) -> NDArray[np.bool_]:
        """Where a person has decided."""
        found: NDArray[np.bool_] = np.asarray(self.final["source"]).astype(np.str_) == "reviewed"
        return found

    def values(self, *names: str) -> list[dict[str, Any]]:
        """Return some columns of labels.parquet, row by row."""
        rows: list[dict[str, Any]] = self.table.select(list(names)).to_pylist()
        return rows


def read_labels(run: str | Path) -> Labels:
    """Read the labels of a finished run."""
    opened = read_run(run)
    table, classes = opened.labels, opened.classes
    check_labels(table, len(classes), opened.folder.labels)
    final = final_labels(table, classes, reviewed(opened.folder))
    kind = str(opened.preprocessing.get("kind"))
    settings = from_document(read_toml(opened.folder.config))
    settings = replace(settings, data=from_home(settings.data, opened.folder.homes()))
    return Labels(settings, kind, classes, table, final)
