"""What the user asked for on the command line, as one settings document; what was not given is not in it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pencil.config import from_document, merge, override, read_toml
from pencil.errors import PencilError

_GROUPS = {
    "labels": "data",
    "noise": "data",
    "root": "data",
    "held_out": "data",
    "device": "hardware",
    "precision": "hardware",
}


def document(config: Path | None, flags: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """Lay the flags that were given over a settings file, and --set over both."""
    top = merge({}, *(_layer(name, value) for name, value in flags.items() if value is not None))
    top = merge(top, *(override(assignment) for assignment in assignments))
    _refuse_no_groups(top)
    if config is None:
        return top
    from pencil.run.planning.plan import one_spelling
    from pencil.run.planning.refuse import refuse_idle_recipe

    settings = read_toml(config)
    _refuse_no_groups(settings)
    refuse_idle_recipe(settings, top.get("recipe"), f"the settings in {config}")
    return merge(one_spelling(settings, top), top)


def _refuse_no_groups(layer: Mapping[str, Any]) -> None:
    """Refuse one value in the place of a group of settings; what is in a group is checked with the others' layers."""
    from_document({"method": "", **{name: value for name, value in layer.items() if not isinstance(value, Mapping)}})


def _layer(name: str, value: Any) -> dict[str, Any]:
    return {_GROUPS[name]: {name: value}} if name in _GROUPS else {name: value}


def epoch_counts(text: str | None) -> int | list[int] | None:
    """Read "20,50,20", the epochs of each phase, or "90", those of all."""
    if text is None:
        return None
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = [-1]
    if min(counts) < 0 or not any(counts):
        how = "one whole number for each phase, not all 0, e.g. 20,50,20, or one for all of them"
        raise PencilError(f'--epochs is "{text}"; give {how}.')
    return counts if len(counts) > 1 else counts[0]


def budget_seconds(text: str | None) -> float | None:
    """Read "90s", "10m", "1h30m" or plain seconds."""
    if text is None:
        return None
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?|(\d+)", text.strip())
    hours, minutes, *seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    if not (total := 3600 * hours + 60 * minutes + sum(seconds)):
        raise PencilError(f'--budget is "{text}"; give a time such as 90s, 10m or 1h30m.')
    return float(total)


def names(text: str | None) -> list[str]:
    """Read "tensorboard,csv": several names."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def tidy(source: str | None) -> str | None:
    """Write a path in one way, so that `photos` and `photos/` are the same data; `digits/` is not the source."""
    if not source or str(Path(source)) == source or not Path(source).exists():
        return source
    from pencil.data import as_source

    return as_source(Path(source))


def data_settings(root: str | None, assignments: Sequence[str]) -> dict[str, Any]:
    """Return the settings of the data alone, for commands that read data and train nothing."""
    top = merge({"data": {"root": root} if root else {}}, *(override(assignment) for assignment in assignments))
    if set(top) != {"data"}:
        raise PencilError("--set takes settings of the data here: data.NAME=value, e.g. data.options.label=kind.")
    return dict(top["data"])
