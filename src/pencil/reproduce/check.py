"""Refuses what no trial can be run with, before anything is queued or written."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from pencil import backbones, methods, plugins
from pencil.config import DataSettings, Settings
from pencil.data.noise import make
from pencil.errors import PencilError
from pencil.methods import Known, Method
from pencil.reproduce.facts import FACTS, facts_of
from pencil.reproduce.trial import Trial
from pencil.run.planning.plan import check_teaching, checked
from pencil.types import InputSpec

OWNED = {"method": "--methods", "seed": "--trials", "data.source": "--dataset", "data.noise": "--cells"}
"""Settings that say which trial a run is, and the options that choose them."""


def check_settings(asked: Mapping[str, Any]) -> None:
    """Refuse settings of wrong names or types, and those by which a run would pass for another trial."""
    checked(asked)
    for name, option in OWNED.items():
        group, _, key = name.rpartition(".")
        if key in (asked.get(group, {}) if group else asked):
            raise PencilError(f"{name} is not to be set: it says which trial a run is; choose by {option}.")


def check_trials(trials: Iterable[Trial]) -> None:
    """Refuse options, phases, networks and cells that a trial's run would refuse."""
    refused: dict[str, list[str]] = {}
    for trial in trials:
        if trial.seed:  # It differs from the first of its cell in nothing else.
            continue
        try:
            with plugins.blamed(trial.system.method):
                reason = _refusal(_check(trial, trial.settings), _known(trial, trial.settings.data))
        except PencilError as error:
            raise PencilError(f"{trial.system.name} cannot be run so: {error}") from None
        if reason:
            refused.setdefault(reason, []).append(f"{trial.study.name}/{trial.system.name}/{trial.cell.name}")
    if refused:
        said = (f"{', '.join(places)} cannot be run: {reason}" for reason, places in refused.items())
        raise PencilError(" ".join(said))


def _refusal(method: Method, known: Known) -> str:
    """Return why a method does not take a cell; nothing where it does."""
    try:
        method.inform(known)
    except PencilError as error:
        return str(error)
    return ""


def _known(trial: Trial, settings: DataSettings) -> Known:
    """Return what the run's method will be told of its data, as far as settings say it."""
    facts = facts_of(trial.asked["data"])
    transition = make(settings.noise, facts.num_classes).transition if settings.noise else None
    # A source's options may mark labels of its own as known to be right.
    trusted = math.ceil(settings.trusted * facts.num_examples) if settings.noise else len(settings.options)
    return Known(
        None if transition is None else torch.from_numpy(transition),
        # The true classes of all these datasets are known; in what shares they occur, no method refuses.
        torch.full((facts.num_classes,), 1 / facts.num_classes, dtype=torch.float64),
        trusted,
    )


def _check(trial: Trial, settings: Settings) -> Method:
    facts = FACTS[trial.dataset]
    method = methods.create(settings.method, settings.options, facts.num_classes)
    method.phases(settings.phases)
    check_teaching(settings, method)
    if settings.backbone:
        _check_network(trial, settings)
    return method


def _check_network(trial: Trial, settings: Settings) -> None:
    backbones.check(settings.backbone, settings.backbone_options)
    # A source's options may give its images another size than the usual.
    if backbones.in_library(settings.backbone) and not settings.data.options:
        facts = FACTS[trial.dataset]
        spec = InputSpec("images", facts.shape)
        backbones.create(settings.backbone, spec, facts.num_classes, settings.backbone_options)
