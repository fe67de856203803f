"""Ranges of numbers: what they refuse, what they say, and that every number has one."""

import dataclasses
import math
import typing
from typing import Annotated, Any

import pytest

from pencil import methods, plugins
from pencil.config import (
    DataSettings,
    HardwareSettings,
    OptimizerSettings,
    PhaseSettings,
    Range,
    Settings,
    TeachingSettings,
    build_record,
)
from pencil.errors import PencilError

RECORDS = [DataSettings, HardwareSettings, OptimizerSettings, PhaseSettings, Settings, TeachingSettings]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
    share: Annotated[float, Range(0, 1)] = 0.5
    most: Annotated[float, Range(0, 1, above=True, below=True)] = 0.5
    some: Annotated[float | None, Range(0, above=True)] = None
    count: Annotated[int, Range(1)] = 1
    any: float = 0.0


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("share", -0.5, "x.share is -0.5; give a number from 0 to 1."),
        ("share", math.nan, "x.share is nan; give a number from 0 to 1."),
        ("most", 0, "x.most is 0; give a number from more than 0 up to, not including, 1."),
        ("most", 1.0, "x.most is 1; give a number from more than 0 up to, not including, 1."),
        ("some", 0.0, "x.some is 0; give a number, more than 0."),
        ("some", math.inf, "x.some is inf; give a number, more than 0."),
        ("count", 0, "x.count is 0; give at least 1."),
        ("any", math.nan, "x.any is nan; give a number."),
    ],
)
def test_a_number_outside_is_refused_with_what_is_allowed(name: str, value: float, line: str) -> None:
    with pytest.raises(PencilError) as e:
        build_record(Record, {name: value}, "x.")
    assert str(e.value) == line


def test_numbers_inside_are_taken() -> None:
    values = {"share": 1.0, "most": 0.1, "some": None, "count": 10**400, "any": -math.inf}
    assert dataclasses.asdict(build_record(Record, values)) == values


@pytest.mark.parametrize(
    "record", [*RECORDS, *(methods.kind(name).Options for name in plugins.names("pencil.methods"))]
)
def test_every_number_has_a_range(record: Any) -> None:
    for name, hint in typing.get_type_hints(record, include_extras=True).items():
        if typing.get_origin(hint) is not Annotated:
            assert not {hint, *typing.get_args(hint)} & {int, float}, name
