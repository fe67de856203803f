"""Finds methods, sources, noise models and backbones: one file each, the file's name is its name.

A user's own come as `path.py:name`, or as an entry point of the group `pencil.<folder>`, e.g. `pencil.methods`.
"""

import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from pencil.config.own_code import MARK
from pencil.errors import PencilError, did_you_mean
from pencil.lines import first_line


def names(package: str) -> list[str]:
    """List the plug-ins that live in a package's folder."""
    folder = importlib.import_module(package).__path__
    return sorted(m.name for m in pkgutil.iter_modules(folder) if not m.name.startswith("_"))


def find(package: str, name: str, attribute: str, *, kind: str) -> Any:
    """Return the attribute that a plug-in file of the package defines, or a user's own by `path.py:name`."""
    if MARK in name:
        return _from_file(name, kind)
    if name in names(package):
        return getattr(importlib.import_module(f"{package}.{name}"), attribute)
    group = f"pencil.{package.rpartition('.')[2]}"
    for entry in entry_points(group=group, name=name):
        return _loaded(entry, kind)
    if name.endswith(".py"):
        raise PencilError(f"{name} names a file alone; say also what in it is the {kind}, as {name}:name.")
    known = {*names(package), *entry_points(group=group).names}
    raise PencilError(f'there is no {kind} "{name}".{did_you_mean(name, known)}')


def _loaded(entry: EntryPoint, kind: str) -> Any:
    try:
        return entry.load()
    except Exception as error:  # Another's package may fail in any way.
        said = f"{type(error).__name__}: {first_line(error)}"
        raise PencilError(
            f"the {kind} {entry.name} of an installed package, {entry.value}, cannot be imported: {said}; mend that "
            "package, or name another."
        ) from error


def digests(named: Iterable[str]) -> dict[str, str]:
    """Return a digest of each user's file among such names, by the name."""
    files = {name: Path(f"{name.partition(MARK)[0]}.py") for name in named if MARK in name}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items() if file.is_file()}


@contextmanager
def blamed(name: str) -> Iterator[None]:
    """Say in one line what fails in a user's file and where; what fails elsewhere is left as it is."""
    try:
        yield
    except PencilError:
        raise
    except Exception as error:  # A user's code may fail in any way.
        file = Path(name.rpartition(":")[0]).resolve() if MARK in name else None
        lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if Path(at.filename).resolve() == file]
        if not lines:
            raise
        where = f"{name.rpartition(':')[0]}, line {lines[-1]}"
        raise PencilError(f"{where}: {type(error).__name__}: {first_line(error)}") from error


def _from_file(name: str, kind: str) -> Any:
    path, _, attribute = name.rpartition(":")
    module = _import_path(Path(path), kind)
    if not hasattr(module, attribute):
        known = [n for n, value in vars(module).items() if not (n.startswith("_") or _is_imported(value, module))]
        raise PencilError(f"{path} defines no {kind} called {attribute}.{did_you_mean(attribute, known)}")
    return getattr(module, attribute)


def _is_imported(value: Any, module: ModuleType) -> bool:
    """Say whether a name of a module stands for something that was made elsewhere."""
    made = inspect.isclass(value) or inspect.isroutine(value)
    return isinstance(value, ModuleType) or (made and getattr(value, "__module__", "") != module.__name__)


def _import_path(path: Path, kind: str) -> ModuleType:
    if not path.is_file():
        raise PencilError(f"{path} does not exist; give the {kind} as path/to/file.py:name.")
    # One name for each file: dataclasses and type hints look their module up by it.
    unique = hashlib.blake2b(str(path.resolve()).encode(), digest_size=6).hexdigest()
    spec = importlib.util.spec_from_file_location(f"pencil_user_{path.stem}_{unique}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # A script may end the process where it finds no arguments of its own.
        del sys.modules[spec.name]
        raise PencilError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module
