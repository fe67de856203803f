"""Training methods, one file each; the file's name is the method's name."""

from collections.abc import Mapping
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
    return found


def create(name: str, options: Mapping[str, Any], num_classes: int) -> Method:
    """Make a method with its options."""
    return kind(name)(options, num_classes)


__all__ = ["Known", "Method", "NoOptions", "TrainedOnce", "TrainingView", "create", "kind"]
