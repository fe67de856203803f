"""Settings as nested dictionaries: layering, overriding, checking."""

import dataclasses
import math
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from typing import Any

from pencil.config.ranges import Range
from pencil.config.schedule import Schedule
from pencil.config.settings import PhaseSettings, Settings
from pencil.errors import PencilError, did_you_mean

Document = dict[str, Any]
SHORT_NUMBER = re.compile(r"[+-]?(\d+\.|\.\d+)(e[+-]?\d+)?")
"""Numbers as people write them, which TOML does not take: .5 and 5."""


def merge(base: Mapping[str, Any], *layers: Mapping[str, Any]) -> Document:
    """Lay dictionaries over each other; later ones win, tables are merged key by key."""
    merged = dict(base)
    for layer in layers:
        for key, value in layer.items():
            both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
            merged[key] = merge(merged[key], value) if both else value
    return merged


def plain_numbers(value: Any) -> Any:
    """Return settings whose numbers are Python's own; a seed drawn by NumPy is a number like any other."""
    if isinstance(value, Mapping):
        return {key: plain_numbers(inner) for key, inner in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(plain_numbers, value))
    if type(value).__module__ != "numpy" or getattr(value, "ndim", None) != 0:
        return value
    number = value.item()
    return float(str(value)) if isinstance(number, float) else number


def override(assignment: str) -> Document:
    """Turn `key=value` of the command line into a layer; a bare key that is no setting is the method's option."""
    key, equals, text = assignment.partition("=")
    if not equals or not key.strip():
        raise PencilError(f'--set takes key=value, not "{assignment}".')
    known = {field.name for field in dataclasses.fields(Settings)}
    path = [part.strip() for part in key.split(".")]
    if path[0] not in known and len(path) > 1:
        raise PencilError(f'there is no setting "{key.strip()}".{did_you_mean(path[0], known)}')
    if path[0] not in known:
        path = ["options", *path]
    value: Any = float(text) if SHORT_NUMBER.fullmatch(text.strip()) else _toml_value(text)
    for part in reversed(path):
        value = {part: value}
    return typing.cast(Document, value)


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:  # No TOML, or a number with more digits than Python reads.
        return text


def from_document(document: Mapping[str, Any]) -> Settings:
    """Check a nested dictionary against the records and build the settings."""
    return typing.cast(Settings, build_record(Settings, document))


def build_record(kind: Any, document: Mapping[str, Any], where: str = "") -> Any:
    """Build a frozen record from a dictionary, refusing unknown names, wrong types and numbers out of range.

    A setting that has gone is named in the record's `gone` with the value that became the rule; runs of before have it.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    hints = typing.get_type_hints(kind, include_extras=True)
    values = {}
    gone = getattr(kind, "gone", {})
    for key, value in document.items():
        if key in gone and value == gone[key]:
            continue
        if key in gone:
            rule = str(gone[key]).lower()
            raise PencilError(f"{where}{key} is no longer a setting: it is always {rule}; leave it out.")
        if key not in fields:
            remedy = did_you_mean(key, fields) or f" There are no {where.rstrip('.')} here; leave it out."
            raise PencilError(f'there is no setting "{where}{key}".{remedy}')
        values[key] = _convert(hints[key], value, f"{where}{key}")
        if isinstance(values[key], float) and math.isnan(values[key]):
            raise PencilError(f"{where}{key} is nan; give a number.")
    missing = [
        name
        for name, field in fields.items()
        if name not in values and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise PencilError(f"the setting {where}{missing[0]} is missing; give it a value.")
    return kind(**values)


def _convert(hint: Any, value: Any, where: str) -> Any:
    if typing.get_origin(hint) is typing.Annotated:
        hint, *notes = typing.get_args(hint)
        converted = _convert(hint, value, where)
        for allowed in (note for note in notes if isinstance(note, Range) and converted is not None):
            allowed.check(converted, where)
        return converted
    if dataclasses.is_dataclass(hint) and hint is not Schedule:
        if not isinstance(value, Mapping):
            raise PencilError(f"{where} is a group of settings; give {where}.NAME=value.")
        return build_record(hint, value, f"{where}.")
    if hint is Schedule or Schedule in typing.get_args(hint):
        return None if value is None and hint is not Schedule else Schedule.parse(value)
    if typing.get_origin(hint) is dict:
        if not isinstance(value, Mapping):
            raise PencilError(f"{where} is a group of settings; give {where}.NAME=value.")
        inner = typing.get_args(hint)[1]
        if inner is PhaseSettings:
            return {name: _convert(inner, phase, f"{where}.{name}") for name, phase in value.items()}
        return dict(value)
    return _scalar(hint, value, where)


def _scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is Any:
        return value
    if typing.get_origin(hint) is typing.Literal:
        if value in typing.get_args(hint):
            return value
        raise PencilError(f'{where} cannot be "{value}".{did_you_mean(str(value), map(str, typing.get_args(hint)))}')
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    # Of what a list holds the list itself says nothing.
    allowed = tuple(typing.get_origin(kind) or kind for kind in kinds)
    if float in allowed and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        wanted = " or ".join(getattr(kind, "__name__", str(kind)) for kind in allowed)
        raise PencilError(f'{where} is "{value}"; give a value of type {wanted}.')
    return value


def to_document(record: Any) -> Document:
    """Return settings as a nested dictionary of plain values; None is left out."""
    document: Document = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Mapping):
            value = {k: to_document(v) if dataclasses.is_dataclass(v) else v for k, v in value.items()}
        elif isinstance(value, Schedule):
            value = str(value)
        elif dataclasses.is_dataclass(value):
            value = to_document(value)
        if value is not None:
            document[field.name] = value
    return document
