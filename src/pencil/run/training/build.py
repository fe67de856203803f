"""Builds the engine for a plan on this machine."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from pencil import kernels
from pencil.data.dataset import Dataset, Examples, Inputs
from pencil.data.transforms.augment import Prepare
from pencil.engine import Engine, Feed, ResidentFeed, State, StreamingFeed, Watched
from pencil.engine.evaluate import Evaluator
from pencil.errors import PencilError
from pencil.lines import first_of
from pencil.run.planning.plan import Plan
from pencil.run.training.example_table import make_table
from pencil.run.training.layout import takes_pixels_together, with_pixels_together
from pencil.run.training.machine import Machine, free_memory, on_machine
from pencil.runtime import idle_gpu

RESIDENT_SHARE = 0.5
"""Share of the free memory that data may take on the device."""
NAMED = 3
"""Features whose names a line has."""


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
    table = make_table(plan, machine, batch_size, folder)
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
    """Name the features of which something is more than 0; of very many the first."""
    places = [place for place, value in enumerate(of) if value > 0]
    if not places:
        return ""
    names = dataset.facts.get("features") or [f"feature {place + 1}" for place in range(max(places) + 1)]
    return first_of([names[place] for place in places], NAMED)


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
    free = free_memory(device)
    held = size <= RESIDENT_SHARE * free
    how = "held on" if held else "streamed to"
    return held, f"data ({size / 2**20:.0f} MiB) is {how} {device}, which has {free / 2**30:.1f} GiB free."


def _bytes(inputs: Inputs) -> int | None:
    if inputs.array is None:
        return None
    one = inputs.read(np.zeros(1, dtype=np.int64))
    return int(one.nbytes) * len(inputs)
