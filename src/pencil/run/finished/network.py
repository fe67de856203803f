"""Makes a finished run's network again, with the weights that it ended with."""

import warnings
from collections.abc import Mapping
from shlex import quote
from typing import Any

import numpy as np
import torch
from torch import nn

from pencil import backbones, plugins
from pencil.config import Settings
from pencil.config.own_code import MARK, same_code
from pencil.errors import PencilError
from pencil.results.arrays import read_arrays
from pencil.results.documents import read_classes, read_object
from pencil.results.folder import RunFolder
from pencil.run.planning.home import at_home
from pencil.run.planning.preparation import read_preparation
from pencil.run.training.machine import brought
from pencil.run.training.sittings import changed


def load_network(folder: RunFolder, settings: Settings, *, backbone: str | backbones.Own = "") -> nn.Module:
    """Make a run's network and give it the run's weights; code that a run names must be named again by the user."""
    settings = at_home(settings, folder.homes())
    name = settings.backbone
    if MARK in name and not (isinstance(backbone, str) and same_code(name, backbone)):
        raise PencilError(
            f"this run's network is code of its own; if you trust it, give it again: --backbone {quote(name)}"
        )
    if backbones.is_given(name) and (isinstance(backbone, str) or backbones.name_of(backbone) != name):
        raise PencilError(f"this run's network, {name}, was given in Python; give it there again, by backbone.")
    wanted = backbone if backbones.is_users_own(name) else name
    _warn_of_other_code(folder, backbones.name_of(wanted))
    preparation = read_preparation(folder)
    classes = read_classes(folder.classes)
    model = backbones.create(wanted, preparation.spec, len(classes), _without_weights(settings.backbone_options))
    model = brought(model, torch.device("cpu"), torch.float32)
    weights = {k: torch.from_numpy(np.array(v)) for k, v in read_arrays(folder.model).items()}
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        changed = "that code has changed since, or " if MARK in name else ""
        raise PencilError(
            f"{folder.model} does not fit the network {name}; {changed}the run folder is damaged."
        ) from None
    return model.eval()


def _warn_of_other_code(folder: RunFolder, backbone: str) -> None:
    if not folder.result.exists():
        return
    made_with = read_object(folder.result).get("environment")
    before = made_with.get("own_code") if isinstance(made_with, Mapping) else None
    for name in changed(before if isinstance(before, Mapping) else {}, plugins.digests([backbone])):
        warnings.warn(f"{name} has changed since the run was trained; it may predict otherwise now.", stacklevel=4)


def _without_weights(options: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what says where starting weights come from: the run's own weights replace them."""
    return {k: v for k, v in options.items() if k not in ("weights", "pretrained")}
