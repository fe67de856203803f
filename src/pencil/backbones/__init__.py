"""Networks that turn a batch of prepared examples into logits; one file each, found by name."""

import importlib
import inspect
from collections.abc import Mapping
from typing import Any, cast

from torch import nn

from pencil import plugins
from pencil.errors import PencilError, did_you_mean
from pencil.types import InputSpec

LIBRARIES = ("timm", "transformers")
"""Libraries whose networks are named as `timm:NAME`."""
SMALL_SIDE = 64
"""Images up to this many pixels a side count as small."""


def create(name: str, spec: InputSpec, num_classes: int, options: Mapping[str, Any] | None = None) -> nn.Module:
    """Make the backbone called `name`: a file of this folder, one of a library, or a user's `file.py:factory`."""
    options = options or {}
    library, colon, own = name.partition(":")
    if colon and library in LIBRARIES:
        build: Any = importlib.import_module(f"{__name__}._{library}").build
        return cast(nn.Module, build(own, spec, num_classes, options))
    build = plugins.find(__name__, name, "build", kind="backbone")
    _check_options(name, build, options)
    network = build(spec, num_classes, **options)
    if not isinstance(network, nn.Module):
        raise PencilError(f"the backbone {name} returned a {type(network).__name__}, not a torch.nn.Module.")
    return network


def default(dataset_default: str, spec: InputSpec, *, photographs: bool) -> tuple[str, str | None]:
    """Choose a backbone for a dataset that none was named for; the second value is a warning, or None."""
    if dataset_default:
        return dataset_default, None
    if spec.kind == "rows":
        return "mlp", None
    if photographs or max(spec.shape[1:]) > SMALL_SIDE:
        return "resnet50", (
            "training resnet50 from scratch, which is weak on little data: start from published weights with "
            "--set backbone_options.weights=FILE, or name a pretrained network with --backbone timm:NAME."
        )
    return "small_cnn", None


def _check_options(name: str, build: Any, options: Mapping[str, Any]) -> None:
    parameters = list(inspect.signature(build).parameters.values())
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    known = {p.name: p.default for p in parameters[2:] if p.kind is not p.VAR_KEYWORD}
    for option, value in options.items():
        if option not in known and not open_ended:
            raise PencilError(f'the backbone {name} has no option "{option}".{did_you_mean(option, known)}')
        _check_type(name, option, value, known.get(option))


def _check_type(name: str, option: str, value: Any, default: Any) -> None:
    """Refuse a text where the default is a whole number, and so on."""
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    wanted = type(default)
    if wanted in kinds and type(value) is not wanted and not (wanted is float and type(value) is int):
        raise PencilError(f"the option {option} of the backbone {name} is {value!r}; give {kinds[wanted]}.")
