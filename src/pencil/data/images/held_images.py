"""Images that lie in a column of a table: their bytes, or `bytes` beside a `path`, as Hugging Face writes them."""

from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pencil.data.identity import content_ids
from pencil.data.images.decode import image_size
from pencil.data.images.encoded import EncodedImages
from pencil.errors import PencilError


def column_of_images(table: Any) -> str:
    """Return the first column that holds images, "" for none."""
    return next((field.name for field in table.schema if _can_hold(field.type) and holds_images(table, field.name)), "")


def holds_images(table: Any, name: str) -> bool:
    """Say whether the first cell of a column that is not empty is an image."""
    if name not in table.column_names or not _can_hold(table.schema.field(name).type):
        return False
    cell = _cells(table, name)
    row = next((row for row in range(table.num_rows) if cell(row) is not None), 0)
    with suppress(PencilError):
        first: Any = images(table, name, "")[row]
        return min(image_size(first)) > 0
    return False


def images(table: Any, name: str, where: str) -> EncodedImages:
    """Return a column's images, each read when it is asked for."""
    cell = _cells(table, name)
    return EncodedImages(table.num_rows, lambda row: {"bytes": cell(row)}, where)


def image_ids(table: Any, name: str) -> tuple[NDArray[np.str_], str]:
    """Return a name for each image by its bytes, and one for all of them."""
    cell = _cells(table, name)
    ids = content_ids(np.frombuffer(cell(row) or b"", np.uint8) for row in range(table.num_rows))
    return ids, blake2b("\n".join(ids.tolist()).encode(), digest_size=16).hexdigest()


def _can_hold(kind: Any) -> bool:
    if pa.types.is_struct(kind):
        place = kind.get_field_index("bytes")
        return place >= 0 and _can_hold(kind.field(place).type)
    bare = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_binary(bare) or pa.types.is_large_binary(bare))


def _cells(table: Any, name: str) -> Callable[[int], bytes | None]:
    values = table.column(name)

    def cell(row: int) -> bytes | None:
        found = values[row].as_py()
        return found.get("bytes") if isinstance(found, dict) else found

    return cell
