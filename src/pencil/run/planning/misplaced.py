"""Settings that are given without the group that they belong to, as `label=kind` for `data.options.label=kind`."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from pencil import data, methods
from pencil.config import Settings
from pencil.errors import PencilError

GROUPS = {name: kind for name, kind in get_type_hints(Settings).items() if is_dataclass(kind)}


def refuse_misplaced(asked: Mapping[str, Any], method: str) -> None:
    """Refuse a name that is no setting where it stands but is one in a group; the command line takes it for an option.

    Other names that are no settings are refused by whoever has those that may be meant.
    """
    outermost = {field.name for field in fields(Settings)}
    for name in asked:
        if name not in outermost:
            _refuse(name, "")
    options, kind = asked.get("options"), methods.kind(method).Options
    if isinstance(options, Mapping) and is_dataclass(kind):
        own = {field.name for field in fields(kind)} | set(getattr(kind, "gone", {}))
        for name in options:
            if name not in own:
                _refuse(name, "options.")


def _refuse(name: str, where: str) -> None:
    if meant := " or ".join(f'"{place}"' for place in _places(name)):
        raise PencilError(f'there is no setting "{where}{name}". Did you mean {meant}?')


def _places(name: str) -> Iterator[str]:
    """Yield the settings of groups that have this name."""
    for group, record in GROUPS.items():
        if name in {field.name for field in fields(record)}:
            yield f"{group}.{name}"
    if name in data.OPTIONS:
        yield f"data.options.{name}"
