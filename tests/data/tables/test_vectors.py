"""Columns of lists as a matrix."""

import pyarrow as pa
import pytest

from pencil.data.tables.vectors import vectors
from pencil.errors import PencilError


def test_lists_without_any_number_are_refused() -> None:
    empty = pa.chunked_array([[[], []]], type=pa.list_(pa.float64()))
    with pytest.raises(PencilError, match='row 1, column "v" has 0 numbers, and so do all'):
        vectors(empty, "v")
