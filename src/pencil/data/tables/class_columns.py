"""Columns of classes in a Parquet file from Hugging Face: numbers there, while the schema holds the classes' names."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_UNLABELLED = -1
"""What stands for no class there."""


def spelled_out(table: Any) -> Any:
    """Return a table with names in the place of numbers, in each column whose names the schema holds."""
    for name, classes in _classes(table.schema).items():
        place = table.schema.get_field_index(name)
        if place < 0 or not pa.types.is_integer(table.schema.field(place).type):
            continue
        numbers = table.column(place)
        span = pc.min_max(numbers).as_py()
        if span["min"] is None or span["min"] < _UNLABELLED or span["max"] >= len(classes):
            continue
        known = pc.if_else(pc.equal(numbers, _UNLABELLED), None, numbers)
        table = table.set_column(place, name, pc.take(pa.array(classes, pa.string()), known))
    return table


def _classes(schema: Any) -> dict[str, list[str]]:
    try:
        features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))["info"]["features"]
        kinds = {name: kind for name, kind in features.items() if kind.get("_type") == "ClassLabel"}
        return {name: [str(word) for word in kind["names"]] for name, kind in kinds.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
