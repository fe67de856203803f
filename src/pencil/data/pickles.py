"""Reads pickles of plain data without running anything they name.

An ordinary unpickler calls whatever functions a file asks for. This one knows five names, all stand-ins of its
own, so that the worst a hostile file can do is to be refused.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError

_NUMBERS = {"u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "b1"}


class _Type:
    """Stands in for numpy.dtype."""

    def __init__(self, code: Any, *_: Any) -> None:
        name = code.decode("ascii", "replace") if isinstance(code, bytes) else str(code)
        if name.lstrip("<>|=") not in _NUMBERS:
            raise pickle.UnpicklingError(f"arrays of type {name} are not read")
        self.order, self.name = "<", name.lstrip("<>|=")

    def __setstate__(self, state: Any) -> None:
        order = state[1].decode("ascii", "replace") if isinstance(state[1], bytes) else str(state[1])
        self.order = ">" if order == ">" else "<"

    def numpy(self) -> np.dtype[Any]:
        return np.dtype(self.order + self.name)


class _Array:
    """Stands in for an array that is being rebuilt."""

    def __init__(self, *_: Any) -> None:
        self.value: NDArray[Any] | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, raw = state
        self.value = _rebuild(raw, kind, shape, "F" if fortran else "C")


def _rebuild(raw: Any, kind: Any, shape: Any, order: Any = "C") -> NDArray[Any]:
    if not isinstance(kind, _Type) or not isinstance(shape, tuple) or not all(isinstance(side, int) for side in shape):
        raise pickle.UnpicklingError("an array without type or shape")
    data = raw.encode("latin1") if isinstance(raw, str) else bytes(raw)
    flat = np.frombuffer(data, dtype=kind.numpy())
    return flat.reshape(shape, order="F" if order == "F" else "C")


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """Stands in for _codecs.encode, by which old pickles spell bytes."""
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"encoding {encoding}")
    return text.encode("latin1")


_KNOWN: dict[tuple[str, str], Any] = {
    ("multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("numeric", "_frombuffer"): _rebuild,
    ("_codecs", "encode"): _encode,
}


class _PlainData(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        parts = module.split(".")
        inside_numpy = len(parts) == 3 and parts[0] == "numpy" and parts[1] in ("core", "_core")
        found = _KNOWN.get((parts[2] if inside_numpy else module, name))
        if found is None:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return found


def read_pickle(path: Path) -> dict[str, Any]:
    """Return the dictionary a pickle holds, its keys as text and its arrays as NumPy arrays."""
    try:
        content = _PlainData(io.BytesIO(path.read_bytes()), encoding="bytes").load()
    except Exception as error:  # a damaged pickle fails in as many ways as it has bytes
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PencilError(f"{path} is not a pickle of plain data ({reason}); download it again.") from error
    if not isinstance(content, dict):
        raise PencilError(f"{path} holds a {type(content).__name__}, not a dictionary; download it again.")
    return {_text(key): value.value if isinstance(value, _Array) else value for key, value in content.items()}


def _text(key: Any) -> str:
    return key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)
