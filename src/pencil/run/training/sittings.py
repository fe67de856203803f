"""What a run was trained with: it may go on with another version of the code, or on another machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pencil import plugins, recipes
from pencil.config import Settings, to_document
from pencil.config.own_code import code_in, without_folder
from pencil.results.environment import environment
from pencil.run.training.machine import Machine
from pencil.runtime import device_name

Environment = dict[str, Any]


@dataclass
class Sittings:
    """What the run is trained with now, and what it was trained with before where that was something else."""

    now: Environment
    earlier: list[Environment] = field(default_factory=list)
    """Each with the number of epochs that were complete at its end."""

    @classmethod
    def of(cls, machine: Machine, settings: Settings) -> "Sittings":
        """Return a first sitting on this machine, with a recipe and a user's own files as they are now."""
        facts: Environment = {
            "device": device_name(machine.device),
            "precision": machine.precision.name,
            "threads": machine.threads,
            "processes": machine.processes.count,
            "recipe_version": recipes.version(settings.recipe),
        }
        own = own_code(to_document(settings))
        return cls(environment(facts | ({"own_code": own} if own else {})))

    @property
    def environment(self) -> Environment:
        """All of it, for the result."""
        return self.now | ({"earlier": self.earlier} if self.earlier else {})

    def meta(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {"made_with": self.environment}

    def go_on(self, meta: Mapping[str, Any], epoch: int) -> list[str]:
        """Follow the sittings of a checkpoint, with so many epochs complete; return whose code is another by now."""
        before = dict(meta.get("made_with", {}))
        self.earlier = [dict(each) for each in before.pop("earlier", [])]
        if before and before != self.now:
            self.earlier.append(before | {"until_epoch": epoch})
        return changed(dict(before.get("own_code", {})), self.now.get("own_code", {}))


def own_code(document: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of each of a user's own files that settings name, in the shape of config.toml, by the name."""
    return plugins.digests(code_in(document).values())


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return which of a user's files are no longer what they were."""
    known = {without_folder(name): digest for name, digest in before.items()}
    return [name for name, digest in now.items() if known.get(without_folder(name), digest) != digest]
