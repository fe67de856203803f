"""labels.parquet: what is believed of every example."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from pencil.results.atomic import write_atomic
from pencil.results.documents import damaged, missing

SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("id", pa.string()),
        ("given", pa.int32()),
        ("given_name", pa.string()),
        ("corrected", pa.int32()),
        ("corrected_name", pa.string()),
        ("confidence", pa.float64()),
        ("entropy", pa.float64()),
        ("quality", pa.float64()),
        ("network", pa.int32()),
        ("changed_at", pa.int32()),
        ("num_changes", pa.int32()),
        ("decision", pa.string()),
        ("split", pa.string()),
        ("trusted", pa.bool_()),
    ]
)
"""The columns every table has, in this order; `clean` follows where it is known."""

_DECISIONS = {"keep", "relabel", "review"}
_CLEAN = pa.field("clean", pa.int32())


def build_labels(
    *,
    class_names: Sequence[str],
    ids: Sequence[str] | NDArray[np.str_],
    given: ArrayLike,
    corrected: ArrayLike,
    confidence: ArrayLike,
    entropy: ArrayLike,
    quality: ArrayLike,
    network: ArrayLike,
    changed_at: ArrayLike,
    num_changes: ArrayLike,
    decision: Sequence[str] | NDArray[np.str_],
    split: Sequence[str] | NDArray[np.str_],
    trusted: ArrayLike | None = None,
    index: ArrayLike | None = None,
    clean: ArrayLike | None = None,
) -> pa.Table:
    """Build the table of labels from columns of N rows; −1 and NaN stand for "not defined" and become null."""
    columns: dict[str, Any] = {
        "index": np.arange(len(ids)) if index is None else index,
        "id": ids,
        "given": given,
        "given_name": names_of(given, class_names),
        "corrected": corrected,
        "corrected_name": names_of(corrected, class_names),
        "confidence": confidence,
        "entropy": entropy,
        "quality": quality,
        "network": network,
        "changed_at": changed_at,
        "num_changes": num_changes,
        "decision": decision,
        "split": split,
        "trusted": np.zeros(len(ids), dtype=np.bool_) if trusted is None else trusted,
    }
    schema = SCHEMA
    if clean is not None and bool(np.any(np.asarray(clean) >= 0)):
        columns["clean"] = clean
        schema = SCHEMA.append(_CLEAN)
    return pa.table([_column(columns[field.name], field.type) for field in schema], schema=schema)


def write_labels(path: Path, table: pa.Table) -> None:
    """Write labels.parquet."""
    write_atomic(path, lambda temporary: pq.write_table(table, temporary, compression="zstd"))


def read_labels(path: Path) -> pa.Table:
    """Read labels.parquet."""
    try:
        # A plain read of this one file: a dataset reader would make columns of folders called "lr=0.1".
        # Arrow takes the start of a relative path like "noise:0.4/labels.parquet" for that of an address.
        with pq.ParquetFile(path.absolute()) as file:
            _check_columns(file.schema_arrow, path)
            table = file.read()
    except FileNotFoundError:
        raise missing(path) from None
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error) from error
    return table


def _check_columns(found: pa.Schema, path: Path) -> None:
    """Refuse a table without our columns, or with others of their names."""
    if lacking := [name for name in SCHEMA.names if name not in found.names]:
        raise damaged(path, f"it has no column {', '.join(lacking)}")
    for field in (*SCHEMA, *([_CLEAN] if "clean" in found.names else [])):
        places = found.get_all_field_indices(field.name)
        if len(places) > 1 or found.field(places[0]).type != field.type:
            raise damaged(path, f"its column {field.name} is not one of type {field.type}")


def check_labels(table: pa.Table, num_classes: int, path: Path) -> None:
    """Refuse a table that no run wrote, before a number in it is used as a place in a list."""
    try:
        table.validate(full=True)
    except pa.ArrowException as error:
        raise damaged(path, error) from error
    if table["id"].null_count or len(pc.unique(table["id"])) < len(table):
        raise damaged(path, "it has an example without an id, or one twice")
    for name in ("given", "corrected", "network"):
        bounds = pc.min_max(table[name]).as_py()
        if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < num_classes:
            raise damaged(path, f"{name} names a class that classes.json does not have")
    if table["corrected"].null_count or not set(pc.unique(table["decision"]).to_pylist()) <= _DECISIONS:
        raise damaged(path, "an example has no corrected label, or a decision that is not known")


def suspects(table: pa.Table) -> NDArray[np.bool_]:
    """Say which labels are not kept unseen, but for those that are known to be right, such as a person chose."""
    known = np.asarray(table["trusted"].fill_null(False)).astype(np.bool_)
    doubted: NDArray[np.bool_] = np.asarray(table["decision"].fill_null("")).astype(np.str_) != "keep"
    return doubted & ~known


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return pa.array(values, kind)
    numbers = np.asarray(values)
    undefined = np.isnan(numbers) if pa.types.is_floating(kind) else numbers < 0
    return pa.array(numbers, mask=undefined).cast(kind)


def names_of(classes: ArrayLike, class_names: Sequence[str]) -> pa.Array:
    """Return the classes' names; −1 becomes null."""
    numbers = np.asarray(classes, dtype=np.int64)
    return pa.array(list(class_names), pa.string()).take(pa.array(numbers, mask=numbers < 0))
