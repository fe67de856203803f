"""Turns what a user asked for into complete settings, prepared data and a network: all that training needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import torch
from torch import nn

from pencil import backbones, data, methods, plugins, recipes
from pencil.config import (
    DataSettings,
    Schedule,
    Settings,
    TeachingSettings,
    from_document,
    merge,
    to_document,
)
from pencil.data import Dataset
from pencil.data.request import default_cache_dir
from pencil.data.transforms.spread import Spread, spread
from pencil.errors import PencilError
from pencil.methods import Method
from pencil.run.planning.lengths import asked_lengths, other_lengths, phase_lengths
from pencil.run.planning.misplaced import refuse_misplaced
from pencil.run.planning.remarks import remarks
from pencil.runtime import choose_device, seed_for
from pencil.types import Phase

Document = Mapping[str, Any]
DEFAULT_METHOD = "pencil"
DEFAULT_RECIPE = "auto"


@dataclass(frozen=True, eq=False)
class Plan:
    """A run before its first step."""

    settings: Settings
    dataset: Dataset
    method: Method
    phases: tuple[Phase, ...]
    warnings: tuple[str, ...] = ()
    own_network: backbones.Own | None = None
    """What was given in Python; None where the settings name the network."""

    @property
    def network(self) -> str | backbones.Own:
        """What the run's network is made of."""
        return self.settings.backbone if self.own_network is None else self.own_network

    def new_network(self) -> nn.Module:
        """Make the run's network, newly initialised from torch's current random numbers."""
        spec, options = self.dataset.preparation.spec, self.settings.backbone_options
        return backbones.create(self.network, spec, self.dataset.num_classes, options)

    @property
    def epochs(self) -> int:
        return sum(phase.epochs for phase in self.phases)

    @property
    def noise_told(self) -> str:
        """How injected noise came about, where that had to be found out; empty where its name says it all."""
        return str(self.dataset.facts["noise"].get("told", "")) if self.settings.data.noise else ""

    @property
    def network_seed(self) -> int:
        return seed_for(self.settings.seed, "network")


def plan(
    source: Any,
    asked: Document,
    *,
    epochs: Sequence[int] | None = None,
    steps: Document | None = None,
    mine: Document | None = None,
    download: bool = False,
    cache_dir: Path | None = None,
    complete: bool = False,
) -> Plan:
    """Read the data, fill in the recipe under what the user asked for, and make the method.

    `steps` are options that are meant for these `epochs`, and do not stretch any more. `mine` is what the user asks for
    now, where other settings of `asked` are another run's.
    Settings that are `complete` have their recipe in them: a later version's may say more, which is not for them.
    """
    asked, own_network = _by_name(asked)
    refuse_misplaced(asked, str(asked.get("method") or DEFAULT_METHOD))
    checked(asked)
    asked = _with_source(source, asked)
    early = checked(asked)
    if early.phases:
        methods.kind(early.method).check_phases(early.phases)
    dataset = _dataset(source, early.data, early.seed, download=download, cache_dir=cache_dir)
    method_name = str(asked.get("method") or DEFAULT_METHOD)
    lengths = asked_lengths(asked) if epochs is None else phase_lengths(method_name, epochs)
    batch = dict(asked.get("optimizer") or {}).get("batch_size", 0)
    recipe = {} if complete else _recipe(early, method_name, dataset, lengths, batch)
    document: Document = merge(recipe, {k: v for k, v in asked.items() if not _is_nothing(v)}, {"method": method_name})
    if epochs is not None:
        schedules = methods.kind(method_name).phase_schedules
        stretched = other_lengths(document, asked if mine is None else mine, lengths, schedules)
        document = merge(document, stretched, {"options": steps} if steps else {})
    settings, warning = _with_backbone(from_document(one_spelling(document, asked)), dataset)
    with plugins.blamed(method_name):
        method = methods.create(method_name, settings.options, dataset.num_classes)
        method.inform(_known(dataset))
        phases = _phases(method, settings)
    check_teaching(settings, method)
    if settings.teaching.mixup and dataset.preparation.whole:
        raise PencilError("whole numbers that are taken as they are cannot be mixed; use --set teaching.mixup=0.")
    warnings = (*remarks(dataset), *([warning] if warning else []))
    return Plan(settings, dataset, method, phases, warnings, own_network)


def _phases(method: Method, settings: Settings) -> tuple[Phase, ...]:
    found: Any = method.phases(settings.phases)
    if not isinstance(found, (tuple, list)) or not found or not all(isinstance(phase, Phase) for phase in found):
        raise PencilError(f"the phases of {settings.method} must be a tuple of pencil.types.Phase, one at least.")
    for phase in found:
        if not isinstance(phase.lr, Schedule) or not hasattr(phase.rule, "update"):
            raise PencilError(
                f"phase {phase.name} of {settings.method} must have a Schedule as its learning rate, as the settings of"
                " the phase have, and one of pencil.table's label rules."
            )
    return tuple(found)


def _by_name(asked: Document) -> tuple[Document, backbones.Own | None]:
    """Return what is asked for with the network's name, and the network where it is given in Python."""
    own = asked.get("backbone")
    if isinstance(own, (str, NoneType)):
        return asked, None
    if not callable(own):
        raise PencilError(
            f"backbone is a {type(own).__name__}; give a network's name, a torch.nn.Module, or a function"
            " (spec, num_classes) that makes one."
        )
    return {**asked, "backbone": backbones.name_of(own)}, own


def _recipe(asked: Settings, method: str, dataset: Dataset, lengths: Mapping[str, int], batch: int) -> Document:
    inputs, phase_names = dataset.preparation.spec, methods.kind(method).phase_names
    accelerated = choose_device(asked.hardware.device).type != "cpu"
    # A copy says nothing new: labels are learned by heart as soon as if it were not there.
    sizes = len(dataset.train) - dataset.facts.get("copies", 0), dataset.num_classes
    rows = inputs.kind == "rows"
    found = spread(dataset.train, dataset.preparation, dataset.num_classes) if rows else Spread()
    facts = recipes.Facts(*sizes, inputs.kind, phase_names, inputs.shape, accelerated, *found, lengths, batch)
    return recipes.resolve(asked.recipe or DEFAULT_RECIPE, method, facts)


def check_teaching(settings: Settings, method: Method) -> None:
    """Refuse help that the method cannot take."""
    teaching = settings.teaching
    if teaching.mixup and not teaching.average_epochs:
        raise PencilError("teaching.mixup needs averaged weights; give teaching.average_epochs.")
    if teaching.mixup and not method.mixes:
        raise PencilError(f"{settings.method} does not train on mixed examples; use --set teaching.mixup=0.")


def _known(dataset: Dataset) -> methods.Known:
    """Return what a method may be told of the data, where it is known."""
    train, transition = dataset.train, dataset.facts.get("transition")
    truth = None if train.clean is None else np.bincount(train.clean[train.clean >= 0], minlength=dataset.num_classes)
    return methods.Known(
        None if transition is None else torch.tensor(transition, dtype=torch.float64),
        None if truth is None or not truth.any() else torch.from_numpy(truth / truth.sum()),
        0 if train.trusted is None else int(((train.given >= 0) & train.trusted).sum()),
    )


def _is_nothing(value: Any) -> bool:
    # Not by ==, which an array that was given for a setting would answer with an array.
    return value is None or (isinstance(value, str) and not value)


def checked(asked: Document) -> Settings:
    """Refuse wrong names, types and numbers before any data is read; what is missing, a recipe may still give."""
    document: dict[str, Any] = {"method": DEFAULT_METHOD, **{k: v for k, v in asked.items() if not _is_nothing(v)}}
    phases = document.get("phases")
    if isinstance(phases, Mapping):
        start = {"epochs": 0, "lr": 0}
        document["phases"] = {k: {**start, **v} if isinstance(v, Mapping) else v for k, v in phases.items()}
    return from_document(document)


def _with_source(source: Any, asked: Document) -> Document:
    if source is None:
        return asked
    name = data.as_source(source) if isinstance(source, (str, Path)) else f"<{type(source).__name__}>"
    return merge(asked, {"data": {"source": name}})


def _dataset(source: Any, settings: DataSettings, seed: int, *, download: bool, cache_dir: Path | None) -> Dataset:
    if source is None or isinstance(source, (str, Path)):
        return data.load(settings, seed=seed, download=download, cache_dir=cache_dir)
    if settings.root:
        raise PencilError(
            f"root is {settings.root!r}, but data that is given in Python lies in no folder; leave it out, and name"
            " images by paths that lead to them from here."
        )
    request = data.Request(options=dict(settings.options), cache_dir=cache_dir or default_cache_dir())
    return data.prepare(data.from_given(source, request), settings, seed=seed)


SPELLINGS = (("label_lr", "label_step"), ("compatibility_weight", "anchor"))


def one_spelling(document: Document, asked: Document) -> Document:
    """Where the user gives one spelling of a setting, drop a lower layer's other spelling of it."""
    options = dict(document.get("options", {}))
    mine = asked.get("options", {})
    for one, other in (*SPELLINGS, *(pair[::-1] for pair in SPELLINGS)):
        if one in mine and other not in mine:
            options.pop(other, None)
    return {**document, "options": options}


def _with_backbone(settings: Settings, dataset: Dataset) -> tuple[Settings, str | None]:
    if settings.backbone:
        return settings, None
    name, warning = backbones.default(
        dataset.default_backbone,
        dataset.preparation.spec,
        photographs=bool(dataset.facts.get("photographs")),
        resizable=bool(dataset.facts.get("resizable")),
        weights=bool(settings.backbone_options.get("weights")),
    )
    return replace(settings, backbone=name), warning


def differing(before: Settings, after: Document) -> list[str]:
    """List the settings that a document gives another value than a run was started with; hardware may differ."""
    found: list[str] = []

    def compare(old: Document, new: Document, path: str) -> None:
        for key, value in new.items():
            if not path and key == "hardware":
                continue
            if isinstance(value, Mapping) and isinstance(old.get(key, {}), Mapping):
                compare(old.get(key, {}), value, f"{path}{key}.")
            elif not _same(old.get(key), value) and value not in ("", None):
                found.append(f"{path}{key}")

    # A setting that has gone stands at the value that became the rule, as where it is given for a new run.
    compare(merge({"teaching": TeachingSettings.gone}, to_document(before)), after, "")
    return found


def _same(old: Any, new: Any) -> bool:
    """Say whether two values mean the same: 0 and 0.0 do, and "0.10" and "0.1" where they are schedules."""
    if old is None or old == new:
        return bool(old == new)
    try:
        return Schedule.parse(old) == Schedule.parse(new)
    except PencilError:
        return str(old) == str(new)
