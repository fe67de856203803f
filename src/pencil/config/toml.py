"""Settings as TOML text."""

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any

from pencil.config.schedule import Schedule
from pencil.errors import PencilError


def read_toml(path: Path) -> dict[str, Any]:
    """Read a settings file."""
    try:
        # Some editors put a mark of UTF-8 in front.
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise PencilError(f"the settings file {path} does not exist.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise PencilError(f"{path} is not a readable TOML file: {error}") from None


def write_toml(document: Mapping[str, Any]) -> str:
    """Return a nested dictionary as TOML text."""
    return "\n".join(_lines(document, ())).strip() + "\n"


def _lines(document: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    plain = {k: v for k, v in document.items() if not isinstance(v, Mapping) and v is not None}
    if path and (plain or not document):
        yield f"\n[{'.'.join(_key(part) for part in path)}]"
    for key, value in plain.items():
        try:
            yield f"{_key(key)} = {_value(value)}"
        except TypeError:
            shown = " ".join(repr(value).split())[:80]
            raise PencilError(
                f"{'.'.join(map(str, (*path, key)))} is {shown}, which no file of settings can hold; give texts,"
                " numbers, true or false, or lists of these."
            ) from None
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _lines(value, (*path, key))


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise PencilError(f"a setting is called {key!r}; give a text.")
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    # TOML's basic strings, numbers, booleans and arrays are JSON's, but for DEL, dates and what is not finite.
    if isinstance(value, Schedule):
        value = str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, Mapping):  # Of a list.
        return f"{{{', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())}}}"
    if isinstance(value, float) and not math.isfinite(value):
        return repr(float(value))
    if isinstance(value, (date, time)):
        return value.isoformat()
    if value is None:
        raise TypeError
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
