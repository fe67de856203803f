"""Chooses and makes the example table of a run."""

import atexit
import shutil
import tempfile
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pencil import plugins
from pencil.errors import PencilError
from pencil.run.planning.plan import Plan
from pencil.run.training.machine import Machine, free_memory
from pencil.table import KINDS, ExampleTable, MappedTable, TopTable

MANY_CLASSES = 2_000
"""From here on the strongest classes of a label say enough of it."""
TABLE_SHARE = 0.3
"""Share of the free memory that a dense example table may take."""


def try_table(plan: Plan, machine: Machine) -> None:
    """Refuse what the example table cannot keep, by one of a single row, before anything is written."""
    with tempfile.TemporaryDirectory(prefix="pencil-table-") as place, plugins.blamed(plan.settings.method):
        table = make_table(plan, machine, 1, Path(place), rows=slice(1))
        for phase in plan.phases:
            phase.rule.prepare(table)


def make_table(
    plan: Plan, machine: Machine, batch_size: int, folder: Path | None, rows: slice = slice(None)
) -> ExampleTable:
    train, device = plan.dataset.train, machine.device

    def on_device(values: NDArray[np.generic] | None) -> torch.Tensor | None:
        # A copy: methods may change columns in place, the data must stay as it is.
        return None if values is None else torch.from_numpy(np.array(values[rows])).to(device)

    given = on_device(train.given)
    assert given is not None
    labels: dict[str, Any] = {
        "scale": plan.method.label_scale,
        "distribution_NC": on_device(train.distribution),
        "trusted_N": on_device(train.trusted),
        "clean_N": on_device(train.clean),
        "dtype": machine.precision.dtype,
    }
    kind = table_kind(plan, device)
    if kind is not MappedTable:
        return kind.start(given, plan.dataset.num_classes, **labels)
    if machine.processes.count > 1:
        raise PencilError("a table in a file is for one process; use --set hardware.table=dense or top.")
    place = folder or _passing_folder()
    return MappedTable.start(given, plan.dataset.num_classes, folder=place, batch_size=batch_size, **labels)


def _passing_folder() -> Path:
    path = tempfile.mkdtemp(prefix="pencil-table-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


def table_kind(plan: Plan, device: torch.device) -> type[ExampleTable]:
    """Choose the kind of example table: dense where it fits beside everything else."""
    asked = plan.settings.hardware.table
    if asked != "auto":
        return KINDS[asked]
    # Labels, averaged predictions, and a checkpoint's copy of both.
    dense = 4 * len(plan.dataset.train) * plan.dataset.num_classes * torch.finfo(torch.float32).bits // 8
    if dense <= TABLE_SHARE * free_memory(device):
        return ExampleTable
    return TopTable if plan.dataset.num_classes >= MANY_CLASSES else MappedTable


def kind_of_state(arrays: Container[str]) -> str:
    """Return the name of the kind of example table that a checkpoint of such arrays was made with."""
    return next((name for name, kind in KINDS.items() if f"table.{kind.own_column}" in arrays), "dense")
