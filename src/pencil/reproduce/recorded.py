"""Whether a trial has a record: one of the same settings and, where a user's own code is run, of the same code."""

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pencil.config import Settings, from_document, merge, override, to_document
from pencil.errors import PencilError
from pencil.reproduce.own_rows import digests_of
from pencil.reproduce.record import Record, command, flat, holds, portable
from pencil.reproduce.sound import read_record
from pencil.reproduce.study import Study
from pencil.reproduce.systems import SYSTEMS
from pencil.reproduce.trial import Trial, Wanted, plan_trials
from pencil.run.planning.plan import differing, one_spelling
from pencil.run.training.sittings import changed, own_code

LENGTH = re.compile(r"phases\.\w+\.epochs")
"""What --epochs sets."""
EPOCHS = "epochs"
"""What all lengths of phases are called together."""
WEIGHTS = "backbone_options.weights"
"""Where published weights lie need not be said to find a record; none at all are another start."""


def has_record(trial: Trial, reference: Path) -> bool:
    """Say whether there is a record under a trial's name that holds, whatever its settings."""
    path = trial.record(reference)
    return path.is_file() and holds(read_record(path))


def is_recorded(trial: Trial, reference: Path) -> bool:
    """Say whether a trial has a record that holds; refuse one of other settings or code under the same name."""
    if not has_record(trial, reference):
        return False
    path = trial.record(reference)
    record = read_record(path)
    remedy = "give another folder with --reference, or replace it with --force."
    try:
        other = _other_settings(trial, record) if "asked" in record else _other_than_told(trial, record)
    except PencilError as error:
        raise PencilError(f"{path} has settings that are none here ({error}); {remedy}") from error
    if other:
        raise PencilError(f"{path} was made with other settings ({', '.join(other)}); {remedy}")
    now = {Path(name).name: digest for name, digest in own_code(trial.document).items()}
    edited = changed(digests_of(record), now)
    if edited:
        raise PencilError(f"{path} was made with other code in {', '.join(edited)}; restore it, {remedy}")
    return True


def other_than_planned(study: Study, records: Sequence[Record]) -> list[str]:
    """Return the settings in which records differ from the study's own trials, as far as they tell them."""
    known = {*SYSTEMS, *(system.name for system in study.systems)}
    telling = [record for record in records if "asked" in record and record["dataset"] == study.dataset]
    systems = sorted({str(record["system"]) for record in telling} & known)
    planned = plan_trials(study, systems=systems, trials=1, wanted=Wanted()) if systems else []
    trials = {(trial.system.name, trial.cell.name): trial for trial in planned}
    found: set[str] = set()
    for record in telling:
        if trial := trials.get((record["system"], record["cell"])):
            found.update(_other_settings(trial, record))
    # With a phase's length its schedule changes too.
    return sorted(name for name in found - {"seed"} if EPOCHS not in found or not name.startswith("phases."))


def _other_settings(trial: Trial, record: Record) -> list[str]:
    """Compare all that was asked for then and now, each laid over the recipe."""
    now = portable(trial.document)
    # A network that was the data's own then may be named now.
    network = {"backbone": record["backbone"]} if now.get("backbone") and "backbone" in record else {}
    then = merge(network, record["asked"])
    before, after = _complete(trial, then), _complete(trial, now)
    # Both ways: what only one of the two sets makes another run as well.
    found = {*differing(before, to_document(after)), *differing(after, to_document(before))}
    if trial.lacks_weights and "backbone" not in found and not then.get("backbone_options", {}).get("weights"):
        found.add(WEIGHTS)
    elif "weights" not in now.get("backbone_options", {}):
        found.discard(WEIGHTS)
    return sorted({EPOCHS if LENGTH.fullmatch(name) else name for name in found})


def _complete(trial: Trial, document: dict[str, Any]) -> Settings:
    return from_document(one_spelling(merge(trial.recipe, document), document))


def _other_than_told(trial: Trial, record: Record) -> list[str]:
    """Compare with a record that does not keep all that was asked for: by its fields and its command."""
    asked = {"dataset": trial.dataset, "recipe": trial.document["recipe"], "noise": trial.cell.noise}
    asked["method"] = Path(trial.system.method).name
    if not trial.may_end_early or record.get("epochs", 0) > trial.most_epochs:
        asked["epochs"] = trial.epochs
    asked |= {"backbone": trial.document["backbone"]} if trial.document.get("backbone") else {}
    other = [name for name, value in asked.items() if record.get(name) != value]
    options = trial.asked.get("options", {})
    other += [f"options.{name}" for name, value in options.items() if record.get("options", {}).get(name) != value]
    then, now = _assigned(str(record.get("command", ""))), _assigned(command(trial))
    return other + sorted(name for name in {*then, *now} if then.get(name) != now.get(name))


def _assigned(line: str) -> dict[str, Any]:
    """Return the settings that a command sets one by one, beside options, whose values a record keeps."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise PencilError(f"its command: {error}") from error
    given = [override(word) for before, word in pairwise(words) if before == "--set"]
    return {
        name: value for name, value in flat(merge({}, *given)) if name != WEIGHTS and not name.startswith("options.")
    }
