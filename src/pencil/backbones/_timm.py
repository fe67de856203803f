"""Networks of timm, by name."""

import importlib
from collections.abc import Mapping
from typing import Any

from torch import nn

from pencil.backbones._weights import load, weights_file
from pencil.errors import PencilError
from pencil.types import InputSpec


def build(name: str, spec: InputSpec, num_classes: int, options: Mapping[str, Any]) -> nn.Module:
    """Make a network; `weights`, a file or a folder, is read by pencil, all other options are timm's."""
    if spec.kind != "images":
        raise PencilError(f"timm:{name} takes images, but these examples are rows; use the backbone mlp.")
    if "checkpoint_path" in options:
        raise PencilError("checkpoint_path is not taken, as it may run code; give the file by the option weights.")
    try:
        timm = importlib.import_module("timm")
    except (ImportError, RuntimeError) as error:
        raise PencilError(
            f"timm:{name} needs timm, which cannot be imported here ({error}): pip install pencil-labels[vision]"
        ) from error
    own = {key: value for key, value in options.items() if key != "weights"}
    try:
        network = timm.create_model(name, num_classes=num_classes, in_chans=spec.shape[0], **own)
    except Exception as error:
        raise PencilError(f"timm cannot make {name}: {error}") from error
    assert isinstance(network, nn.Module)
    if options.get("weights"):
        load(network, str(weights_file(options["weights"])), classifier=_classifier(network))
    return network


def _classifier(network: nn.Module) -> tuple[str, ...]:
    """Return the names of what comes last, which another number of classes makes anew."""
    told: Any = getattr(network, "default_cfg", {}).get("classifier", "fc")
    return (told,) if isinstance(told, str) else tuple(told)
