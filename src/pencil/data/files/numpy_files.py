"""Reads NumPy's files of plain arrays; what a header claims is believed only where the file has the bytes for it."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pencil.data.files.claims import refuse_bomb
from pencil.errors import PencilError

_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npy(path: Path) -> NDArray[Any]:
    """Read one array; objects in it are refused, as they could run code."""
    try:
        with path.open("rb") as file:
            _check_claim(file, path.stat().st_size)
            file.seek(0)
            array: NDArray[Any] = np.load(file, allow_pickle=False)
    except Exception as error:  # a damaged file fails in as many ways as it has bytes
        raise _unreadable(path, error) from error
    return array


def read_npz(path: Path, wanted: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
    """Read the arrays of a file that numpy.savez wrote, or some of them."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                refuse_bomb(member.file_size, member.compress_size)
                with archive.open(member) as file:
                    _check_claim(file, member.file_size)
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files if wanted is None or name in wanted}
    except Exception as error:
        raise _unreadable(path, error) from error


def names_in(path: Path) -> list[str]:
    """Return the names of the arrays in a file that numpy.savez wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return list(file.files)
    except Exception as error:
        raise _unreadable(path, error) from error


def _check_claim(file: IO[bytes], size: int) -> None:
    """Refuse a header that claims more bytes than there are, before memory is taken for them."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version[0]}.{version[1]} of the format is not read")
    shape, _, kind = _HEADERS[version](file)
    if math.prod(shape) * max(kind.itemsize, 1) > size:
        raise ValueError(f"its header claims {shape} of {kind}, more than the file has")


def _unreadable(path: Path, error: Exception) -> PencilError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return PencilError(f"{path} cannot be read ({reason}); write plain arrays with numpy.save or numpy.savez.")
