"""Columns that hold a vector in each row, such as precomputed embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pencil.errors import PencilError


def is_vector(kind: Any) -> bool:
    """Say whether a column of this Arrow type holds lists of numbers."""
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_list(kind) for is_list in lists):
        return False
    return bool(pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type))


def vectors(values: Any, name: str) -> tuple[NDArray[np.floating[Any]], list[str]]:
    """Return a column of lists as a matrix, NaN where a number is missing, and a title for each place: "name[0]".

    Floats stay as wide as they are: they may be most of what fits into memory.
    """
    rows = values.to_numpy(zero_copy_only=False)
    lengths = [0 if row is None else len(row) for row in rows]
    length = next((found for found in lengths if found), 0)
    for number, found in enumerate(lengths):
        if found != length or not found:
            others = f"others have {length}" if length else "and so do all"
            raise PencilError(
                f'row {number + 1}, column "{name}" has {found} numbers, {others}; give each row as many.'
            )
    matrix = np.stack(rows)
    floats = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
    return floats, [f"{name}[{place}]" for place in range(length)]
