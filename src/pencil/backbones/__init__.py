"""Networks that turn a batch of prepared examples into logits; one file each, found by name."""

import copy
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from torch import nn

from pencil import plugins
from pencil.config.own_code import MARK
from pencil.errors import PencilError, did_you_mean
from pencil.lines import first_line
from pencil.types import InputSpec

LIBRARIES = ("timm", "transformers")
"""Libraries whose networks are named as `timm:NAME`."""
Own = nn.Module | Callable[..., nn.Module]
"""A network that is given in Python: itself, with its weights, or a function (spec, num_classes) that makes it."""
SMALL_SIDE = 64
"""Images up to this many pixels a side count as small."""
LARGE = "resnet50"
"""The network for photographs."""


def create(wanted: str | Own, spec: InputSpec, num_classes: int, options: Mapping[str, Any] | None = None) -> nn.Module:
    """Make a backbone: a file of this folder, one of a library, a user's `file.py:factory`, or one given in Python."""
    options, name = options or {}, name_of(wanted)
    if isinstance(wanted, nn.Module):
        _check_options(name, lambda spec, num_classes: None, options)
        return _copied(name, wanted)
    if not isinstance(wanted, str):
        return _made(name, wanted, spec, num_classes, options)
    if in_library(name):
        library, _, own = name.partition(":")
        build: Any = importlib.import_module(f"{__name__}._{library}").build
        return cast(nn.Module, build(own, spec, num_classes, options))
    return _made(name, _found(name), spec, num_classes, options)


def check(name: str, options: Mapping[str, Any]) -> None:
    """Refuse a network that is not there or has no such options; what a library has shows when it is made."""
    if not in_library(name):
        _check_options(name, _found(name), options)


def is_built_in(name: str) -> bool:
    """Say whether a network is one of this folder's: not a library's, a plug-in's or a user's own."""
    return name in plugins.names(__name__)


def in_library(name: str) -> bool:
    """Say whether a network is one of a library's."""
    library, colon, _ = name.partition(":")
    return bool(colon) and library in LIBRARIES


def _found(name: str) -> Callable[..., Any]:
    return cast(Callable[..., Any], plugins.find(__name__, name, "build", kind="backbone"))


def name_of(wanted: str | Own) -> str:
    """Return a network's name; one that is given in Python has its type's or function's, in angle brackets."""
    if isinstance(wanted, str):
        return wanted
    named = type(wanted) if isinstance(wanted, nn.Module) else wanted
    return f"<{getattr(named, '__name__', type(named).__name__).strip('<>')}>"


def is_given(name: str) -> bool:
    """Say whether a run's network was given in Python, and is in no file that its name could lead to."""
    return name.startswith("<")


def is_users_own(name: str) -> bool:
    """Say whether a network is a user's, in Python or in a file."""
    return is_given(name) or MARK in name


def _copied(name: str, network: nn.Module) -> nn.Module:
    try:
        return copy.deepcopy(network)
    except Exception as error:
        raise PencilError(
            f"the network {name} cannot be copied ({first_line(error)}); give a function (spec, num_classes) that makes"
            " it."
        ) from error


def _made(
    name: str, build: Callable[..., Any], spec: InputSpec, num_classes: int, options: Mapping[str, Any]
) -> nn.Module:
    _check_options(name, build, options)
    try:
        network = build(spec, num_classes, **options)
    except PencilError:
        raise
    except Exception as error:  # A user's code may fail in any way.
        if not is_users_own(name):
            raise
        raise PencilError(
            f"the backbone {name} cannot be called with (spec, num_classes): {type(error).__name__}: {error}; give a"
            " function that can, or a network."
        ) from error
    if not isinstance(network, nn.Module):
        raise PencilError(f"the backbone {name} returned a {type(network).__name__}, not a torch.nn.Module.")
    return network


def default(
    dataset_default: str, spec: InputSpec, *, photographs: bool, resizable: bool = False, weights: bool = False
) -> tuple[str, str | None]:
    """Choose a backbone for a dataset that none was named for; the second value is a warning, or None.

    `weights` says that it starts from published ones.
    """
    name = dataset_default or _usual(spec, photographs=photographs)
    if name != LARGE or weights:
        return name, None
    smaller = (
        f" Where {SMALL_SIDE} × {SMALL_SIDE} pixels are enough a small network learns them in a fraction of the"
        f" time: --set data.options.size={SMALL_SIDE}."
    )
    return name, (
        f"training {LARGE} from scratch, which is weak on little data: start from published weights with "
        "--set backbone_options.weights=FILE, or name a pretrained network with --backbone timm:NAME."
    ) + (smaller if resizable else "")


def _usual(spec: InputSpec, *, photographs: bool) -> str:
    if spec.kind == "tensors":
        raise PencilError("no network is usual for inputs that are taken as they are; give one by backbone.")
    if spec.kind == "rows":
        return "mlp"
    return LARGE if photographs or max(spec.shape[1:]) > SMALL_SIDE else "small_cnn"


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
