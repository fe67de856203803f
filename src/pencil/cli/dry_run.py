"""`pencil train --dry-run`: what would be read and trained, and the time it should take; nothing is written."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer

from pencil.cli.timing import spoken
from pencil.lines import in_one_line
from pencil.results.folder import RunFolder


def describe(
    source: str | None,
    asked: dict[str, Any],
    *,
    epochs: int | Sequence[int] | None,
    out: Path | None,
    start_from: Path | None,
    download: bool,
    as_json: bool,
) -> None:
    """Make everything ready as training would, measure a few steps, and say what was found."""
    from pencil.run import plan
    from pencil.run.planning.inherit import open_parent, plan_from
    from pencil.run.planning.refuse import refuse_place_in_data
    from pencil.run.planning.total import plan_epochs
    from pencil.run.training.estimate import estimate_seconds
    from pencil.run.training.machine import choose_machine
    from pencil.runtime import device_name

    if out is not None:
        RunFolder.check_free(out)
    parent = None if start_from is None else open_parent(start_from)
    if out is not None:
        refuse_place_in_data(out, source, asked, parent)
    planned = plan if parent is None else partial(plan_from, parent)
    prepared = plan_epochs(partial(planned, source, download=download), asked, epochs)
    machine = choose_machine(prepared.settings.hardware)
    facts = _facts(prepared, f"{device_name(machine.device)}, {machine.precision.name}")
    if not as_json:
        _print(facts, prepared.warnings)
    seconds = estimate_seconds(prepared, machine)
    if as_json:
        typer.echo(json.dumps(facts | {"seconds": round(seconds, 3)}, indent=2, ensure_ascii=False))
        return
    most = "at most " if any(phase["patience"] for phase in facts["phases"]) else ""
    epochs_at_most = sum(max(phase.epochs, phase.at_most) for phase in prepared.phases)
    time = f"{most}about {spoken(seconds)}"
    if epochs_at_most > prepared.epochs > 0:
        time += f" ({spoken(seconds * epochs_at_most / prepared.epochs)} where most labels are wrong)"
    typer.echo(f"time       {time}, from a few steps measured just now; no run was written")


def _facts(prepared: Any, device: str) -> dict[str, Any]:
    settings, dataset = prepared.settings, prepared.dataset
    parameters = sum(parameter.numel() for parameter in prepared.new_network().parameters())
    sets = {"train": dataset.train, "held_out": dataset.held_out, "test": dataset.test}
    return {
        "source": settings.data.source,
        "dataset": dataset.name,
        "examples": {name: len(examples) for name, examples in sets.items() if examples is not None},
        "classes": list(dataset.class_names),
        "input_shape": list(dataset.preparation.spec.shape),
        "noise": settings.data.noise,
        "noise_told": prepared.noise_told,
        "method": settings.method,
        "extra_information": prepared.method.extra_information,
        "recipe": settings.recipe,
        "backbone": settings.backbone,
        "parameters": parameters,
        "batch_size": settings.optimizer.batch_size,
        "phases": [
            {"name": p.name, "epochs": p.epochs, "lr": str(p.lr), "patience": p.patience, "at_most": p.at_most}
            for p in prepared.phases
        ],
        "device": device,
    }


def _print(facts: dict[str, Any], warnings: Sequence[str]) -> None:
    examples = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in facts["examples"].items())
    shape = " × ".join(str(side) for side in facts["input_shape"])
    noise = f", with noise {facts['noise']}" if facts["noise"] else ""
    noise += f" ({facts['noise_told']})" if facts["noise_told"] else ""
    _say(f"reads      {facts['source']}: {examples}{noise}")
    _say(f"classes    {len(facts['classes'])}: {_some(facts['classes'])}")
    _say(f"input      {shape}")
    _say(f"trains     {facts['backbone']}, {facts['parameters']:,} parameters")
    told = f" * (told {facts['extra_information']})" if facts["extra_information"] else ""
    _say(f"method     {facts['method']}{told}, recipe {facts['recipe']}, batches of {facts['batch_size']}")
    for number, phase in enumerate(facts["phases"], start=1):
        most = "at most " if phase["patience"] else ""
        more = f" (up to {phase['at_most']} where most labels are wrong)" if phase["at_most"] > phase["epochs"] else ""
        epochs = f"{most}{phase['epochs']} epochs{more}"
        _say(f"phase {number}    {phase['name']}: {epochs}, learning rate {phase['lr']}")
    _say(f"device     {facts['device']}")
    for warning in warnings:
        _say(f"warning    {warning}")


def _say(line: str) -> None:
    typer.echo(in_one_line(line))


def _some(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
