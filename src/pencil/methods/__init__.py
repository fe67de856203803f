"""Training methods, one file each; the file's name is the method's name."""

import inspect
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from pencil import plugins
from pencil.errors import PencilError
from pencil.methods._contract import Known, Method, NoOptions, TrainingView
from pencil.methods._once import TrainedOnce


def kind(name: str) -> type[Method]:
    """Return a method's class by name, or a user's own by `file.py:Class`."""
    found = plugins.find(__name__, name, "METHOD", kind="method")
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise PencilError(f"{name} is no pencil.methods.Method; give the name of a class that is one.")
    names = found.phase_names
    # The brackets of ("training") alone make no tuple: it would be taken letter by letter.
    if not isinstance(names, (tuple, list)) or not names:
        raise PencilError(f'the phase_names of {name} must be a tuple, of one name at least: ("training",).')
    return found


def create(name: str, options: Mapping[str, Any], num_classes: int) -> Method:
    """Make a method with its options; a user's own may have left out what all methods begin with."""
    found = kind(name)
    if not is_dataclass(found.Options):
        raise PencilError(
            f"the Options of {name} are no dataclass; put @dataclass(frozen=True, kw_only=True) above them."
        )
    try:
        inspect.signature(found).bind(options, num_classes)
    except TypeError as error:
        raise PencilError(
            f"{name} cannot be made of (options, num_classes): {error}; let its __init__ take both and hand them on to"
            " super().__init__."
        ) from error
    method = found(options, num_classes)
    if not {"_parameters", "options", "num_classes"} <= vars(method).keys():
        raise PencilError(
            f"the __init__ of {name} leaves something out; let it call super().__init__(options, num_classes)."
        )
    return method


__all__ = ["Known", "Method", "NoOptions", "TrainedOnce", "TrainingView", "create", "kind"]
