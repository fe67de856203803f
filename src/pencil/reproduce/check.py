"""Refuses what no trial can be run with, before anything is queued or written."""

from collections.abc import Iterable, Mapping
from typing import Any

from pencil import backbones, methods
from pencil.config import Settings
from pencil.errors import PencilError
from pencil.reproduce.study import FACTS
from pencil.reproduce.trial import Trial
from pencil.run.plan import check_teaching, checked
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
    """Refuse options, phases and networks that a trial's run would refuse."""
    for trial in trials:
        if trial.seed:  # It differs from the first of its cell in nothing else.
            continue
        try:
            _check(trial, trial.settings)
        except PencilError as error:
            raise PencilError(f"{trial.system.name} cannot be run so: {error}") from None


def _check(trial: Trial, settings: Settings) -> None:
    facts = FACTS[trial.dataset]
    method = methods.create(settings.method, settings.options, facts.num_classes)
    method.phases(settings.phases)
    check_teaching(settings, method)
    if not settings.backbone:
        return
    backbones.check(settings.backbone, settings.backbone_options)
    # A source's options may give its images another size than the usual.
    if backbones.in_library(settings.backbone) and not settings.data.options:
        spec = InputSpec("images", facts.shape)
        backbones.create(settings.backbone, spec, facts.num_classes, settings.backbone_options)
