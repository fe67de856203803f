"""Trials: one system in one cell with one seed, as settings for a run and as a place for its record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pencil import methods, recipes
from pencil.config import Settings, from_document, merge
from pencil.errors import PencilError, did_you_mean
from pencil.reproduce.facts import FACTS, facts_of
from pencil.reproduce.lengths import share_out
from pencil.reproduce.study import Cell, Study
from pencil.reproduce.systems import SYSTEMS, System
from pencil.run.planning.lengths import asked_lengths, other_lengths
from pencil.run.planning.plan import one_spelling
from pencil.run.queue import Job

QUICK_EPOCHS = 36
QUICK_NETWORK: dict[str, Any] = {"backbone": "small_cnn", "backbone_options": {"width": 8}}
HUMAN_FILES = ("CIFAR-10_human.pt", "cifar10n_labels.npz")
"""Labels that people gave to CIFAR-10: as published, or the same arrays without pickles."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a user asks for in place of the paper's settings."""

    dataset: str = ""
    """Another source; its recipe is `auto`, since the paper has no settings for it."""
    quick: bool = False
    epochs: int = 0
    """Epochs in all, 0 for the recipe's; each phase is shortened in proportion."""
    backbone: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Laid over everything else, in the shape of config.toml."""
    places: Mapping[str, Any] = field(default_factory=dict)
    """Settings that change no result: where the data and the published weights lie, the hardware."""

    @property
    def differs(self) -> bool:
        """Whether a trial is another one than the paper's."""
        return bool(self.dataset or self.quick or self.epochs or self.backbone or self.settings)


@dataclass(frozen=True)
class Trial:
    """One run of a study."""

    study: Study
    system: System
    cell: Cell
    seed: int
    asked: Mapping[str, Any]
    """The run's settings beside its recipe, in the shape of config.toml."""
    phases: Mapping[str, int]
    """Epochs of each phase."""
    recipe: Mapping[str, Any]
    """What the recipe sets for the method."""
    shorter: Mapping[str, Any] = field(default_factory=dict)
    """The recipe's phases and schedules at another length than its own."""

    @property
    def document(self) -> Mapping[str, Any]:
        """All settings that the run is given."""
        given = merge(self.shorter, self.asked)
        return one_spelling(given, self.asked) if "options" in self.shorter else given

    @property
    def settings(self) -> Settings:
        """The run's settings, the recipe's included."""
        return from_document(one_spelling(merge(self.recipe, self.document), self.document))

    @property
    def name(self) -> str:
        return f"{self.study.name}/{self.system.name}/{self.cell.name}-seed-{self.seed}"

    @property
    def epochs(self) -> int:
        return sum(self.phases.values())

    @property
    def most_epochs(self) -> int:
        """Epochs that it may come to, where a phase takes longer by what the data tell."""
        return sum(max(epochs, self.settings.phases[name].at_most) for name, epochs in self.phases.items())

    @property
    def may_end_early(self) -> bool:
        """Whether the data decide how long a phase takes."""
        return any(phase.patience for phase in self.settings.phases.values())

    @property
    def dataset(self) -> str:
        return str(self.asked["data"]["source"])

    @property
    def told_more(self) -> bool:
        """Whether it uses more than PENCIL does, by its method or by its options."""
        method = methods.create(self.system.method, self.settings.options, FACTS[self.dataset].num_classes)
        return bool(self.system.starred or method.extra_information)

    @property
    def lacks_weights(self) -> bool:
        """Whether the study's own network should start from published weights, and nothing is said of any."""
        own = self.dataset == self.study.dataset and self.document.get("backbone") == self.study.backbone
        return self.study.pretrained and own and "weights" not in self.document.get("backbone_options", {})

    @property
    def num_examples(self) -> int:
        return facts_of(self.asked["data"]).num_examples

    def folder(self, out: Path) -> Path:
        """The run's folder."""
        return out / self.name

    def job(self, out: Path) -> Job:
        """The run as a job of a queue."""
        return Job(self.name, self.folder(out), self.document)

    def record(self, reference: Path) -> Path:
        """The place of the run's record."""
        return reference / self.study.name / f"{self.system.name}-{self.cell.name}-seed-{self.seed}.json"


def plan_trials(
    study: Study,
    *,
    cells: Sequence[str] = (),
    systems: Sequence[str] = (),
    trials: int,
    wanted: Wanted,
    rows: Mapping[str, str] = MappingProxyType({}),
) -> list[Trial]:
    """List the trials of a study, seed by seed, so that a first result of every cell comes before a second of any.

    `rows` names the rows of users' own methods where what follows their colon is taken.
    """
    if wanted.dataset and wanted.dataset not in FACTS:
        raise PencilError(f'--dataset cannot be "{wanted.dataset}".{did_you_mean(wanted.dataset, FACTS)}')
    columns = _chosen(cells, {cell.name: cell for cell in study.cells}, "cell", study)
    chosen = [_system(name, study, rows) for name in systems] or list(study.systems)
    found = [
        _trial(study, system, cell, seed, _without_others(wanted, system, chosen))
        for seed in range(trials)
        for system in chosen
        for cell in columns
        # Labels that people gave belong to the study's own images.
        if cell.name in _cells(study, system) and not (cell.human and wanted.dataset)
    ]
    if not found:
        raise PencilError(f"{study.name} has no such cells for these methods; leave --cells or --methods out.")
    return found


def _without_others(wanted: Wanted, system: System, chosen: Sequence[System]) -> Wanted:
    """Leave out the options that another of the methods has and this one has not; those of none are refused later."""
    options = wanted.settings.get("options", {})
    others = {name for each in chosen for name in _option_names(each)} - _option_names(system)
    if not others & set(options):
        return wanted
    kept = {name: value for name, value in options.items() if name not in others}
    return replace(wanted, settings={**wanted.settings, "options": kept})


def _option_names(system: System) -> set[str]:
    return {option.name for option in fields(methods.kind(system.method).Options)}


def _cells(study: Study, system: System) -> tuple[str, ...]:
    row = study.paper.row(system.name)
    return row.cells if row else study.paper.cells


def _chosen(names: Sequence[str], known: Mapping[str, Cell], kind: str, study: Study) -> list[Cell]:
    for name in names:
        if name not in known:
            raise PencilError(f'{study.name} has no {kind} "{name}".{did_you_mean(name, known)}')
    return [value for name, value in known.items() if not names or name in names]


def _system(name: str, study: Study, rows: Mapping[str, str]) -> System:
    """Return a row by its name; any other method, also a user's own as `file.py:Class`, gets a row of its own."""
    listed = {system.name: system for system in (*SYSTEMS.values(), *study.systems)}
    if name in listed:
        return listed[name]
    methods.kind(name)
    label = rows.get(name) or name.rpartition(":")[2]
    return System(label, label, name)


def _trial(study: Study, system: System, cell: Cell, seed: int, wanted: Wanted) -> Trial:
    asked = _asked(study, system, cell, seed, wanted)
    kind = methods.kind(system.method)
    phases = asked.get("phases", {})
    kind.check_phases(phases)
    # A recipe may set more by lengths than these, as a step by which labels still flip in a few epochs.
    facts = replace(facts_of(asked["data"]), phase_names=kind.phase_names, lengths=asked_lengths(asked))
    recipe = recipes.resolve(asked["recipe"], system.method, facts)
    whole = merge(recipe, {"phases": phases})
    lengths = {name: int(phase["epochs"]) for name, phase in whole["phases"].items()}
    total = wanted.epochs or (min(QUICK_EPOCHS, sum(lengths.values())) if wanted.quick else 0)
    if not total:
        return Trial(study, system, cell, seed, asked, lengths, recipe)
    counts = share_out(lengths, total)
    recipe = recipes.resolve(asked["recipe"], system.method, replace(facts, lengths=counts))
    shorter = other_lengths(merge(recipe, {"phases": phases}), {}, counts, kind.phase_schedules)
    rates = {name: {"lr": shorter["phases"][name]["lr"]} for name, phase in phases.items() if "lr" in phase}
    rest = {name: value for name, value in asked.items() if name != "phases"} | ({"phases": rates} if rates else {})
    return Trial(study, system, cell, seed, rest, counts, recipe, shorter)


def _asked(study: Study, system: System, cell: Cell, seed: int, wanted: Wanted) -> dict[str, Any]:
    """Lay the cell's, the system's and the user's settings over each other."""
    asked: dict[str, Any] = {
        "method": system.method,
        "recipe": "auto" if wanted.dataset else cell.recipe,
        "seed": seed,
        "data": {"source": wanted.dataset or study.dataset, **({"noise": cell.noise} if cell.noise else {})},
    }
    if not wanted.dataset:
        people = {"labels": _people(cell.human, wanted.places)} if cell.human else {}
        asked = merge(asked, {"backbone": study.backbone, "data": {**study.data, **people}})
    if wanted.backbone:
        asked["backbone"] = wanted.backbone
    elif "backbone" not in wanted.settings:
        asked = merge(asked, _network(system, wanted))
    own = {"options": system.options, "teaching": system.teaching, "data": system.data, "phases": system.phases}
    return merge(asked, {k: v for k, v in own.items() if v}, wanted.settings, wanted.places)


def _network(system: System, wanted: Wanted) -> Mapping[str, Any]:
    """Return what is asked of the network where the user names none."""
    if wanted.quick:
        return QUICK_NETWORK
    # Another dataset has a network of its own, with other options.
    return {"backbone_options": system.network} if system.network and not wanted.dataset else {}


def _people(key: str, places: Mapping[str, Any]) -> str:
    """Return where the labels lie that people gave: beside the dataset, as published or as plain arrays."""
    root = Path(places.get("data", {}).get("root", "."))
    found = [root / name for name in HUMAN_FILES if (root / name).is_file()]
    return f"{(found or [root / HUMAN_FILES[0]])[0]}:{key}"
