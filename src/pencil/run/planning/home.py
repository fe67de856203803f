"""A run's settings with the files that they name as they are reached from here."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pencil.config import Settings
from pencil.data.located import from_home, reached

TRANSFORMERS = "transformers:"


def at_home(settings: Settings, homes: Sequence[Path]) -> Settings:
    """Look for data, starting weights, a network's folder and a transition matrix where the run was started."""
    backbone = settings.backbone
    if backbone.startswith(TRANSFORMERS):
        backbone = TRANSFORMERS + reached(backbone.removeprefix(TRANSFORMERS), homes)
    return replace(
        settings,
        data=from_home(settings.data, homes),
        backbone=backbone,
        backbone_options=_with_file(settings.backbone_options, "weights", homes),
        options=_with_file(settings.options, "transition", homes),
    )


def _with_file(options: Mapping[str, Any], name: str, homes: Sequence[Path]) -> dict[str, Any]:
    file = options.get(name)
    return {**options, name: reached(file, homes)} if isinstance(file, str) else dict(options)
