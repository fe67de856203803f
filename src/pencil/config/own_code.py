"""A user's own code (`file.py:name`) among settings: a run's is imported only where the user names it again."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARK = ".py:"
_OPTIONS = {"source": "", "method": "--method ", "backbone": "--backbone ", "noise": "--noise "}
"""What stands before each where training names it."""


def code_in(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the code that settings name, by the setting: source, method, backbone or noise."""
    named = {key: str(document.get(key) or document.get("data", {}).get(key) or "") for key in _OPTIONS}
    return {key: name for key, name in named.items() if MARK in name}


def without_folder(name: str) -> str:
    """Return code without the folder of its file, which is another where it is named from elsewhere."""
    file, mark, rest = name.partition(MARK)
    return f"{Path(file).name}{mark}{rest}"


def same_code(one: str, other: str) -> bool:
    """Say whether two names are of the same code, in whatever folder its file is reached."""
    return MARK in one and without_folder(one) == without_folder(other)


def as_run_names(asked: Mapping[str, Any], saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is asked for, with the run's own code under the name that the run's settings have for it."""
    before = code_in(saved)
    same = {key: before[key] for key, name in code_in(asked).items() if same_code(before.get(key, ""), name)}
    top = {key: same.get(key, value) for key, value in asked.items()}
    return top | ({"data": {**asked["data"], **_of_data(same)}} if _of_data(same) else {})


def as_document(code: Mapping[str, str]) -> dict[str, Any]:
    """Return code as settings in the shape of config.toml."""
    data = _of_data(code)
    return {key: name for key, name in code.items() if key not in data} | ({"data": data} if data else {})


def named_again(document: Mapping[str, Any], **options: str) -> str:
    """Return the words that name a run's code again, each after its option, to end a command with."""
    found = code_in(document)
    return "".join(f" {option}{shlex.quote(found[key])}" for key, option in options.items() if key in found)


def resume_command(run: object, document: Mapping[str, Any]) -> str:
    """Return the command that goes on with a run, with the code that must be named for it."""
    return f"pencil train --resume --out {shlex.quote(str(run))}{named_again(document, **_OPTIONS)}"


def _of_data(code: Mapping[str, str]) -> dict[str, str]:
    return {key: name for key, name in code.items() if key in ("source", "noise")}
