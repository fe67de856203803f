"""Records: a finished run in one small JSON file that says all about itself."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pencil import recipes
from pencil.config import read_toml
from pencil.config.own_code import MARK
from pencil.errors import PencilError
from pencil.reproduce.sound import read_record
from pencil.reproduce.trial import HUMAN_FILES, Trial
from pencil.results.atomic import write_atomic
from pencil.results.documents import plain
from pencil.results.read import read_run
from pencil.results.timing import seconds_compiled
from pencil.run.planning.plan import checked

Record = dict[str, Any]
SERIES = ("label_accuracy", "test_accuracy")
DIGITS = 2
SILENT = {"auto": 2, "fast": 2}
"""Versions of the recipes when records did not say them yet."""
SHOWN = ("data.source", "data.root", "data.noise", "data.labels", "method", "recipe", "backbone", "seed")
"""Settings that the command shows by an option of their own, or that mean nothing on another machine."""

FILES = {"data": ("labels",), "backbone_options": ("weights",)}
"""Settings that are files: a record keeps their names, their folders mean nothing on another machine."""


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
        "extra_information": trial.told_more,
        "noise": trial.cell.noise,
        "recipe": str(config["recipe"]),
        "recipe_version": version_of_run(str(config["recipe"]), result),
        "backbone": _without_folder(str(config["backbone"])),
        "options": dict(config.get("options", {})),
        "teaching": dict(config.get("teaching", {})),
        "phases": phases,
        "epochs": sum(phases.values()),
        "seconds_compiled": seconds_compiled(history),
        "command": command(trial),
        "asked": portable(trial.document),
        "environment": _without_folders(result["environment"]),
    }


def portable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run was asked for without what changes no result: its hardware, and where files lie."""
    kept = {key: value for key, value in document.items() if key != "hardware"}
    for group, names in FILES.items():
        known = {key: value for key, value in kept.get(group, {}).items() if (group, key) != ("data", "root")}
        kept |= {group: {k: Path(v).name if k in names else v for k, v in known.items()}} if known else {}
    labels = kept.get("data", {}).get("labels", "")
    if labels.partition(":")[0] in HUMAN_FILES:
        kept["data"]["labels"] = f"{HUMAN_FILES[0]}:{labels.partition(':')[2]}"
    return kept | {key: _without_folder(kept[key]) for key in ("method", "backbone") if key in kept}


def _without_folder(name: str) -> str:
    """Return what a user's own file.py:NAME is called without its folder, and any other name as it is."""
    return Path(name).name if MARK in name else name


def _without_folders(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Name a user's own files without their folders, also in earlier sittings."""
    said = dict(environment)
    if "own_code" in said:
        said["own_code"] = {Path(name).name: digest for name, digest in said["own_code"].items()}
    if "earlier" in said:
        said["earlier"] = [_without_folders(each) for each in said["earlier"]]
    return said


def version_of_run(recipe: str, result: Mapping[str, Any]) -> int:
    """Return the version of its recipe that a finished run was made with; of several, the earliest."""
    sittings = (result["environment"], *result["environment"].get("earlier", ()))
    return min(version_of({"recipe": recipe, **each}) for each in sittings)


def command(trial: Trial) -> str:
    """Return the command that repeats the run; where its data and weights lie is for the reader to add."""
    asked = trial.asked
    words = ["pencil", "train", trial.dataset, "--method", Path(asked["method"]).name, "--recipe", asked["recipe"]]
    if asked.get("backbone"):
        words += ["--backbone", _without_folder(asked["backbone"])]
    if trial.cell.noise:
        words += ["--noise", trial.cell.noise]
    if asked["data"].get("labels"):
        words += ["--labels", Path(asked["data"]["labels"]).name]
    if trial.shorter:
        words += ["--epochs", ",".join(str(count) for count in trial.phases.values())]
    for name, value in flat(asked):
        if name not in SHOWN and not name.startswith("hardware."):
            shown = Path(value).name if name == "backbone_options.weights" else json.dumps(value)
            words += ["--set", f"{name}={shown}"]
    return shlex.join(str(word) for word in [*words, "--seed", trial.seed])


def flat(document: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Return settings by their whole names, `optimizer.batch_size`."""
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def read_records(reference: Path, study: str, *, outdated: bool = False) -> list[Record]:
    """Read all records of a study that still hold, or those that no longer do, in the order of their files' names."""
    found = {path: record for path, record in _by_file(reference, study).items() if holds(record) != outdated}
    if not outdated:  # What is outdated is compared with nothing.
        for path, record in found.items():
            _refuse_gone(path, record)
    return list(found.values())


def all_records(reference: Path, study: str) -> list[Record]:
    """Read all records of a study, in the order of their files' names."""
    return list(_by_file(reference, study).values())


def _by_file(reference: Path, study: str) -> dict[Path, Record]:
    found: dict[tuple[Any, ...], Path] = {}
    records = {}
    for path in sorted((reference / study).glob("*.json")):
        record = read_record(path)
        trial = record["system"], record["cell"], record["seed"], version_of(record)
        other = found.setdefault(trial, path)
        if other != path:
            raise PencilError(f"{other} and {path} are records of one trial, which counts once; remove one of them.")
        records[path] = record
    return records


def _refuse_gone(path: Path, record: Record) -> None:
    """Refuse a record of settings that no longer exist: it cannot be compared with what is planned."""
    try:
        checked(record.get("asked", {}))
    except PencilError as error:
        raise PencilError(
            f"{path} has settings that are none here ({error}); remove it, or run its trial again with --force."
        ) from error


def holds(record: Record) -> bool:
    """Say whether a record was made with its recipe as that is now."""
    return version_of(record) == recipes.version(record.get("recipe", ""))


def version_of(record: Mapping[str, Any]) -> int:
    """Return the version of its recipe that a record says, or that those had which did not say it yet."""
    return int(record.get("recipe_version", SILENT.get(record.get("recipe", ""), 1)))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _text(record: Record) -> str:
    """Return JSON with sorted keys and each list of numbers on one line."""
    text = json.dumps(plain(record), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[([-\d.,\snul]*)\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"
