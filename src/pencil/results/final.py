"""The labels a run ends with: people's decisions first, then the run's own."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pencil.results.labels_table import names_of

SOURCES = ("reviewed", "relabelled", "given", "undecided")
"""Where a final label comes from; an undecided one is the given label, still in doubt."""

_KEPT = ("index", "id", "given", "given_name")


def final_labels(
    table: pa.Table,
    class_names: Sequence[str],
    reviewed: Mapping[str, int],
    decision: NDArray[np.str_] | None = None,
) -> pa.Table:
    """Return `final`, `final_name` and `source` for each row of labels.parquet.

    What a person chose stands. Otherwise `relabel` takes the corrected label, `keep` the given one, and `review` the
    given one too, marked as undecided. `decision` replaces the table's own column, where thresholds were moved.
    """
    given, corrected = (np.asarray(table[name].fill_null(-1)).astype(np.int64) for name in ("given", "corrected"))
    decided = np.asarray(table["decision"]) if decision is None else decision
    chosen = np.array([reviewed.get(name, -1) for name in table["id"].to_pylist()], dtype=np.int64)
    by_person, relabel = chosen >= 0, decided == "relabel"
    final = np.select([by_person, relabel], [chosen, corrected], given)
    source = np.select([by_person, relabel, decided == "keep"], SOURCES[:3], SOURCES[3])
    columns: dict[str, Any] = {name: table[name] for name in _KEPT}
    columns |= {"final": pa.array(final, mask=final < 0).cast(pa.int32()), "final_name": names_of(final, class_names)}
    return pa.table(columns | {"source": pa.array(source, pa.string()), "split": table["split"]})


def count_sources(final: pa.Table) -> dict[str, int]:
    """Count the final labels by where they come from."""
    found = np.asarray(final["source"])
    return {name: int(np.count_nonzero(found == name)) for name in SOURCES}
