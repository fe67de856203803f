"""Images that lie encoded (as PNG, JPEG, …) in a column, read like files."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, overload

from pencil.errors import PencilError


class EncodedImage(io.BytesIO):
    """The bytes of one image; its text is its name, for messages."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.title = name

    def __str__(self) -> str:
        return self.title


class EncodedImages(Sequence[EncodedImage]):
    """The images of all rows, each read when it is asked for."""

    def __init__(self, count: int, read: Callable[[int], dict[str, Any] | None], name: str) -> None:
        self._count, self._read, self._name = count, read, name

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> EncodedImage: ...
    @overload
    def __getitem__(self, place: slice) -> list[EncodedImage]: ...
    def __getitem__(self, place: int | slice) -> EncodedImage | list[EncodedImage]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(self._count))]
        name = f"{self._name}, row {place + 1}"
        found = self._read(place) or {}
        content = found.get("bytes")
        if content is None and found.get("path"):
            try:
                with open(found["path"], "rb") as file:
                    content = file.read()
            except OSError as error:
                raise PencilError(f"{name}: {found['path']} cannot be read ({error.strerror}).") from error
        if content is None:
            raise PencilError(f"{name} has no image; leave the row out.")
        return EncodedImage(content, name)
