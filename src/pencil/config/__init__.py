"""Settings: plain frozen records, their text forms, and how they are layered."""

from pencil.config.document import (
    build_record,
    from_document,
    merge,
    override,
    plain_numbers,
    to_document,
)
from pencil.config.ranges import Range
from pencil.config.schedule import Schedule
from pencil.config.settings import (
    DataSettings,
    HardwareSettings,
    OptimizerSettings,
    PhaseSettings,
    Settings,
    TeachingSettings,
)
from pencil.config.toml import read_toml, write_toml

__all__ = [
    "DataSettings",
    "HardwareSettings",
    "OptimizerSettings",
    "PhaseSettings",
    "Range",
    "Schedule",
    "Settings",
    "TeachingSettings",
    "build_record",
    "from_document",
    "merge",
    "override",
    "plain_numbers",
    "read_toml",
    "to_document",
    "write_toml",
]
