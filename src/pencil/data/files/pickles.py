"""Reads pickles of plain data without running anything they name.

An ordinary unpickler calls whatever functions a file asks for. This one knows five names, all stand-ins of its
own, and only the instructions that plain data needs, so that the worst a hostile file can do is to be refused.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

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
    if not isinstance(raw, str | bytes | bytearray):
        raise pickle.UnpicklingError("an array without content")
    data = raw.encode("latin1") if isinstance(raw, str) else raw
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


_INSTRUCTIONS = (
    b"\x80\x95.(012",
    b"NIJKMGLFSTUVX\x88\x89\x8a\x8b\x8cBC\x8e\x96",
    b"lae]t)\x85\x86\x87d}su",
    b"ghjpqr\x94cR\x93b",
)
"""Framing and stack; numbers and texts; lists, tuples and dictionaries; memory, stand-ins and their state."""


_LIBRARY: Any = pickle._Unpickler


class _PlainData(pickle._Unpickler):
    """The library's own unpickler in Python, whose instructions can be chosen one by one."""

    stack: list[Any]
    read: Callable[[int], bytes]
    append: Callable[[Any], None]
    dispatch: ClassVar[dict[int, Any]] = {code: _LIBRARY.dispatch[code] for code in b"".join(_INSTRUCTIONS)}

    def _load_setitem(self) -> None:
        self._check_keys(self.stack[-2:-1])
        _LIBRARY.load_setitem(self)

    def _load_setitems(self) -> None:
        self._check_keys(self.stack[::2])
        _LIBRARY.load_setitems(self)

    def _load_dict(self) -> None:
        self._check_keys(self.stack[::2])
        _LIBRARY.load_dict(self)

    def _load_build(self) -> None:
        if not isinstance(self.stack[-2], _Type | _Array):
            raise pickle.UnpicklingError(f"a {type(self.stack[-2]).__name__} with a state")
        _LIBRARY.load_build(self)

    def _load_bytearray8(self) -> None:
        # The library takes memory for the length before it has seen the bytes.
        (size,) = struct.unpack("<Q", self.read(8))
        self.append(bytearray(self.read(size)))

    def _check_keys(self, keys: list[Any]) -> None:
        # A tuple of tuples of … takes as long to look up as its maker likes.
        if not all(isinstance(key, str | bytes | int) for key in keys):
            raise pickle.UnpicklingError("a key that is neither text nor number")

    dispatch |= {
        pickle.SETITEM[0]: _load_setitem,
        pickle.SETITEMS[0]: _load_setitems,
        pickle.DICT[0]: _load_dict,
        pickle.BUILD[0]: _load_build,
        pickle.BYTEARRAY8[0]: _load_bytearray8,
    }

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
