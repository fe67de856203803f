"""Builds the engine for a plan on this machine."""

import atexit
import shutil
import tempfile
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pencil import kernels, plugins
from pencil.data.dataset import Dataset, Examples, Inputs
from pencil.data.transforms.augment import Prepare
from pencil.engine import Engine, Feed, ResidentFeed, State, StreamingFeed, Watched
from pencil.engine.evaluate import Evaluator
from pencil.errors import PencilError
from pencil.run.machine import Machine, on_machine, with_pixels_together
from pencil.run.plan import Plan
from pencil.run.try_network import takes_pixels_together
from pencil.runtime import idle_gpu
from pencil.table import KINDS, ExampleTable, MappedTable, TopTable

RESIDENT_SHARE = 0.5
"""Share of the free memory that data may take on the device."""
MANY_CLASSES = 2_000
"""From here on the strongest classes of a label say enough of it."""
TABLE_SHARE = 0.3
"""Share of the free memory that a dense example table may take."""


def build_engine(plan: Plan, machine: Machine, folder: Path | None = None) -> tuple[Engine, list[str]]:
    """Make network, table, optimizer and feeds; return the engine and lines for the log.

    `folder` is where a table that does not fit into memory lives; without one it goes with the process.
    """
    dataset, hardware, device, seed = plan.dataset, plan.settings.hardware, machine.device, float(plan.settings.seed)
    # As floats, which large ones travel as.
    if machine.processes.any(machine.processes.leader_number(seed) != seed):
        raise PencilError("the processes of this run have different seeds; give all the same seed, or random_state.")

    def new_network() -> nn.Module:
        network = plan.new_network()
        # Each process made the one it was given by itself, maybe from random numbers of its own.
        if machine.processes.count > 1 and isinstance(plan.own_network, nn.Module):
            machine.processes.same(*network.to(device).state_dict().values())
        return network

    together = takes_pixels_together(plan, machine)
    torch.manual_seed(plan.network_seed)
    model = on_machine(new_network(), machine)
    if together:
        model = with_pixels_together(model)
    batch_size = min(plan.settings.optimizer.batch_size, len(dataset.train))
    steps = -(-len(dataset.train) // batch_size)
    method = plan.method.to(device=device, dtype=machine.precision.dtype)
    table = _table(plan, machine, batch_size, folder)
    state = State(model, method, table, plan.settings.optimizer, device, steps, plan.settings.teaching)
    prepare = Prepare(dataset.preparation, plan.settings.seed, pixels_together=together).to(device)
    resident, line = _fits(dataset.train.inputs, device, hardware.resident)
    feed: Feed = (
        ResidentFeed(dataset.train.inputs, device)
        if resident
        else StreamingFeed(dataset.train.inputs, device, batch_size, hardware.workers)
    )

    def evaluator(inputs: Inputs, resident: bool, held: torch.Tensor | None = None) -> Evaluator:
        where = {"resident": resident, "processes": machine.processes, "held": held}
        return Evaluator(inputs, prepare, machine.precision, device, **where)  # type: ignore[arg-type]

    watched = {
        name: Watched(
            evaluator(examples.inputs, _fits(examples.inputs, device, hardware.resident)[0]), _labels(examples, device)
        )
        for name, examples in (("held_out", dataset.held_out), ("test", dataset.test))
        if examples is not None
    }
    engine = Engine(
        state=state,
        phases=plan.phases,
        feed=feed,
        prepare=prepare,
        precision=machine.precision,
        batch_size=batch_size,
        seed=plan.settings.seed,
        new_network=new_network,
        train_evaluator=evaluator(
            dataset.train.inputs, resident, feed.inputs if isinstance(feed, ResidentFeed) else None
        ),
        watched=watched,
        captured=device.type == "cuda" and hardware.compile,
        processes=machine.processes,
    )
    missed = idle_gpu(device) if hardware.device == "auto" else None
    slower = kernels.missing() if device.type == "cuda" else None
    return engine, [text for text in (missed, line, *_unlike_the_rest(plan.dataset), slower) if text]


def _unlike_the_rest(dataset: Dataset) -> list[str]:
    """Say which features the network sees otherwise than by their mean and deviation."""
    skewed, wild = (_named(dataset, of) for of in (dataset.preparation.least, dataset.preparation.reach))
    lines = []
    if skewed:
        lines.append(f"the network sees the logarithms of {skewed}, whose large values would hide the others.")
    if wild:
        lines.append(f"the network sees a few values of {wild} nearer than they are, which would hide the others.")
    return lines


def _named(dataset: Dataset, of: Sequence[float]) -> str:
    """Name the features of which something is more than 0; of very many the first three."""
    places = [place for place, value in enumerate(of) if value > 0]
    if not places:
        return ""
    names = dataset.facts.get("features") or [f"feature {place + 1}" for place in range(max(places) + 1)]
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return ", ".join(names[place] for place in places[:3]) + more


def try_table(plan: Plan, machine: Machine) -> None:
    """Refuse what the example table cannot keep, by one of a single row, before anything is written."""
    with tempfile.TemporaryDirectory(prefix="pencil-table-") as place, plugins.blamed(plan.settings.method):
        table = _table(plan, machine, 1, Path(place), rows=slice(1))
        for phase in plan.phases:
            phase.rule.prepare(table)


def _table(
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
    if dense <= TABLE_SHARE * _free_memory(device):
        return ExampleTable
    return TopTable if plan.dataset.num_classes >= MANY_CLASSES else MappedTable


def kind_of_state(arrays: Container[str]) -> str:
    """Return the name of the kind of example table that a checkpoint of such arrays was made with."""
    return next((name for name, kind in KINDS.items() if f"table.{kind.own_column}" in arrays), "dense")


def _labels(examples: Examples, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(examples.given)).to(device)


def _fits(inputs: Inputs, device: torch.device, asked: str) -> tuple[bool, str]:
    """Decide whether inputs live on the device; the line says why."""
    size = _bytes(inputs)
    if size is None:
        return False, "data is read example by example, as the dataset gives it."
    if asked != "auto":
        held = asked == "yes"
        return held, f"data ({size / 2**20:.0f} MiB) is {'held on the device' if held else 'streamed'}, as asked."
    free = _free_memory(device)
    held = size <= RESIDENT_SHARE * free
    how = "held on" if held else "streamed to"
    return held, f"data ({size / 2**20:.0f} MiB) is {how} {device}, which has {free / 2**30:.1f} GiB free."


def _bytes(inputs: Inputs) -> int | None:
    if inputs.array is None:
        return None
    one = inputs.read(np.zeros(1, dtype=np.int64))
    return int(one.nbytes) * len(inputs)


def _free_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return 4 * 2**30
