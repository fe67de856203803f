"""Records: a finished run in one small JSON file that says all about itself."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pencil import methods, recipes
from pencil.config import read_toml
from pencil.errors import PencilError
from pencil.reproduce.trial import Trial
from pencil.results.atomic import write_atomic
from pencil.results.documents import plain, read_object
from pencil.results.read import read_run
from pencil.results.timing import seconds_compiled

Record = dict[str, Any]
SERIES = ("label_accuracy", "test_accuracy")
DIGITS = 2
SILENT = {"auto": 2, "fast": 2}
"""Versions of the recipes when records did not say them yet."""
SHOWN = ("data.source", "data.root", "data.noise", "data.labels", "method", "recipe", "backbone", "seed")
"""Settings that the command shows by an option of their own, or that mean nothing on another machine."""


def write_record(trial: Trial, out: Path, reference: Path, *, series: bool, at_once: int) -> Path:
    """Write the record of a finished run; with its curves over the epochs where a figure needs them."""
    run = read_run(trial.folder(out))
    described = _description(trial, run.result, read_toml(run.folder.config), run.history)
    record = {**run.result, **described, "at_once": at_once}
    if series:
        record["series"] = {key: [_rounded(epoch.get(key)) for epoch in run.history] for key in SERIES}
    path = trial.record(reference)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, _text(record).encode())
    return path


def _description(
    trial: Trial, result: Mapping[str, Any], config: Mapping[str, Any], history: Sequence[Mapping[str, Any]]
) -> Record:
    """What the record says beyond result.json; lengths and names are those that the run itself resolved."""
    # The folder of a user's own method means nothing on another machine: its file's name is kept.
    phases = {name: sum(epoch["phase"] == name for epoch in history) for name in config["phases"]}
    return {
        "study": trial.study.name,
        "cell": trial.cell.name,
        "system": trial.system.name,
        "title": trial.system.title,
        "method": Path(trial.system.method).name,
        "extra_information": bool(trial.system.starred or methods.kind(trial.system.method).extra_information),
        "noise": trial.cell.noise,
        "recipe": str(config["recipe"]),
        "recipe_version": version_of_run(str(config["recipe"]), result),
        "backbone": str(config["backbone"]),
        "options": dict(config.get("options", {})),
        "teaching": dict(config.get("teaching", {})),
        "phases": phases,
        "epochs": sum(phases.values()),
        "seconds_compiled": seconds_compiled(history),
        "command": command(trial),
    }


def version_of_run(recipe: str, result: Mapping[str, Any]) -> int:
    """Return the version of its recipe that a finished run was made with; of several, the earliest."""
    sittings = (result["environment"], *result["environment"].get("earlier", ()))
    return min(version_of({"recipe": recipe, **each}) for each in sittings)


def command(trial: Trial) -> str:
    """Return the command that repeats the run; where its data and weights lie is for the reader to add."""
    asked = trial.asked
    words = ["pencil", "train", trial.dataset, "--method", Path(asked["method"]).name, "--recipe", asked["recipe"]]
    if asked.get("backbone"):
        words += ["--backbone", asked["backbone"]]
    if trial.cell.noise:
        words += ["--noise", trial.cell.noise]
    if asked["data"].get("labels"):
        words += ["--labels", Path(asked["data"]["labels"]).name]
    if trial.shorter:
        words += ["--epochs", ",".join(str(count) for count in trial.phases.values())]
    for name, value in _flat(asked):
        if name not in SHOWN and not name.startswith("hardware."):
            shown = Path(value).name if name == "backbone_options.weights" else json.dumps(value)
            words += ["--set", f"{name}={shown}"]
    return shlex.join(str(word) for word in [*words, "--seed", trial.seed])


def _flat(document: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def read_records(reference: Path, study: str, *, outdated: bool = False) -> list[Record]:
    """Read all records of a study that still hold, or those that no longer do, in the order of their files' names."""
    found = [read_object(path) for path in sorted((reference / study).glob("*.json"))]
    return [record for record in found if holds(record) != outdated]


def holds(record: Record) -> bool:
    """Say whether a record was made with its recipe as that is now."""
    return version_of(record) == recipes.version(record.get("recipe", ""))


def version_of(record: Mapping[str, Any]) -> int:
    """Return the version of its recipe that a record says, or that those had which did not say it yet."""
    return int(record.get("recipe_version", SILENT.get(record.get("recipe", ""), 1)))


def is_recorded(trial: Trial, reference: Path) -> bool:
    """Say whether a trial has a record that holds; refuse one with other settings under the same name."""
    path = trial.record(reference)
    if not path.is_file():
        return False
    record, cell = read_object(path), trial.cell
    if not holds(record):
        return False
    asked = {"dataset": trial.dataset, "recipe": trial.document["recipe"], "noise": cell.noise}
    if not trial.may_end_early or record.get("epochs", 0) > trial.most_epochs:
        asked["epochs"] = trial.epochs
    asked |= {"backbone": trial.document["backbone"]} if trial.document.get("backbone") else {}
    other = [name for name, value in asked.items() if record.get(name) != value]
    options = trial.asked.get("options", {})
    other += [f"options.{name}" for name, value in options.items() if record.get("options", {}).get(name) != value]
    if other:
        raise PencilError(
            f"{path} was made with other settings ({', '.join(other)}); give another folder with --reference, or "
            f"replace it with --force."
        )
    return True


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _text(record: Record) -> str:
    """Return JSON with sorted keys and each list of numbers on one line."""
    text = json.dumps(plain(record), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[([-\d.,\snul]*)\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"
