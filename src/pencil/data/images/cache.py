"""Keeps decoded images in one memory-mapped file, so that they are decoded once."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.allowance import processors
from pencil.data.arrays import SMALL_SIDE
from pencil.data.images.decode import DEEP, decode, image_size
from pencil.errors import TOO_LARGE, PencilError

_FORMAT = "pencil images 1"
_TIFF_FORMAT = "pencil images 3"
"""What goes into the names of stored images; those of TIFF files were once read in another way."""
_PHOTOGRAPH_SIDE = 256
_LEAST_SIDE = 8
_NEARLY_SMALL = 1.5
"""Times the side of small images: up to that, others are made small."""
_PROBED, _PROBE_BYTES = 64, 2**16
"""Of how many files, and how much of each, is looked into where sizes do not tell files apart."""
_BLOCK = 4096
"""Files handed to the threads at once."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class MappedInputs:
    """A run of rows of an .npy file, mapped; travels to other processes as its path, not as its content."""

    path: Path
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def __reduce__(self) -> tuple[Any, ...]:
        return MappedInputs, (self.path, self.start, self.stop)

    @cached_property
    def array(self) -> NDArray[Any]:
        mapped: NDArray[Any] = np.load(self.path, mmap_mode="r", allow_pickle=False)
        return mapped[self.start : self.stop]

    def read(self, index: NDArray[np.int64]) -> NDArray[Any]:
        return np.asarray(self.array[index])

    def part(self, start: int, stop: int) -> MappedInputs:
        """Return a run of these rows."""
        return MappedInputs(self.path, self.start + start, self.start + stop)


def decoded_file(
    files: Sequence[Path], names: Sequence[str], side: int, cache_dir: Path, key: str = "", bits: int = DEEP
) -> tuple[Path, tuple[int, int, int]]:
    """Return an .npy file of the decoded images, [n, H, W, 3], and the shape of one; made where it is not there.

    With side 0 images keep their size where all have the same and it is small.
    """
    how = "" if bits == DEEP else f"-{bits}"
    path = cache_dir / "images" / f"{key or _key(files, names, side)}{how}.npy"
    shape = _stored_shape(path, len(files))
    if shape is None:
        size = (side, side) if side else _common_size(files)
        _log.info("decoding %d images to %d × %d pixels into %s", len(files), *size, path)
        _write(files, size, bits, path)
        shape = (*size, 3)
    return path, shape


def _key(files: Sequence[Path], names: Sequence[str], side: int) -> str:
    layout = _TIFF_FORMAT if any(name.lower().endswith((".tif", ".tiff")) for name in names) else _FORMAT
    digest = blake2b(f"{layout} side {side}".encode(), digest_size=16)
    sizes = set()
    for file, name in zip(files, names, strict=True):
        try:
            status = file.stat()
        except (OSError, ValueError) as error:  # the second for a name that no file can have
            raise PencilError(f"{file} does not exist or cannot be read; every image that is listed must.") from error
        digest.update(f"\0{name}\0{status.st_size}\0{status.st_mtime_ns}".encode())
        sizes.add(status.st_size)
    if len(sizes) == 1:
        # Pictures that are not compressed are all of one size, and archives may give all files one time: names alone
        # would then take other pictures for these.
        for place in np.linspace(0, len(files) - 1, min(_PROBED, len(files))).astype(int):
            digest.update(_middle(files[place]))
    return digest.hexdigest()


def _middle(file: Path) -> bytes:
    """Return some bytes of a file, from where pictures differ most."""
    try:
        with file.open("rb") as stream:
            stream.seek(max((file.stat().st_size - _PROBE_BYTES) // 2, 0))
            return stream.read(_PROBE_BYTES)
    except OSError as error:
        raise PencilError(f"{file} cannot be read ({error.strerror}); every image that is listed must.") from error


def _stored_shape(path: Path, count: int) -> tuple[int, int, int] | None:
    try:
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        # Not there, or cut off by a disk that lost it: it is made anew.
        return None
    if stored.ndim != 4 or len(stored) != count or stored.dtype != np.uint8:
        return None
    return int(stored.shape[1]), int(stored.shape[2]), int(stored.shape[3])


def _common_size(files: Sequence[Path]) -> tuple[int, int]:
    """Return the one small size that all images have, else a square that fits them."""
    first = image_size(files[0])
    with ThreadPoolExecutor(_threads()) as pool:
        starts = range(0, len(files), _BLOCK) if max(first) <= SMALL_SIDE else ()
        if starts and all(set(pool.map(image_size, files[start : start + _BLOCK])) == {first} for start in starts):
            return first
        some = files[:: -(-len(files) // _BLOCK)]
        side = _fitting(float(np.median([min(size) for size in pool.map(image_size, some)])))
    return side, side


def _fitting(side: float) -> int:
    """Return the side of squares for images of such shorter sides: none larger than half of them are to begin with.

    Those that are little larger than small ones become small, since small networks learn them sooner.
    """
    if side < _NEARLY_SMALL * SMALL_SIDE:
        return max(min(int(side), SMALL_SIDE), _LEAST_SIDE)
    return min(int(side) // 8 * 8, _PHOTOGRAPH_SIDE)


def _write(files: Sequence[Path], size: tuple[int, int], bits: int, path: Path) -> None:
    """Decode every file into a temporary .npy that takes its name only when it is complete and on disk."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        needed = len(files) * size[0] * size[1] * 3
        if shutil.disk_usage(path.parent).free < needed:
            raise PencilError(
                f"the decoded images need {needed / 1e9:.1f} GB in {path.parent}, which has less;"
                " make room, or set PENCIL_CACHE to another disk."
            )
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".partial")
        os.close(handle)
    except OSError as error:
        raise PencilError(f"{path.parent} cannot be written ({error}); set PENCIL_CACHE to another folder.") from error
    try:
        _decode_all(files, size, bits, Path(temporary))
        os.replace(temporary, path)
    except OSError as error:
        why = TOO_LARGE if error.errno == errno.EFBIG else f"{error}; set PENCIL_CACHE to another disk"
        raise PencilError(f"{path} cannot be written: {why}.") from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def _decode_all(files: Sequence[Path], size: tuple[int, int], bits: int, target: Path) -> None:
    shape = (len(files), *size, 3)
    images = np.lib.format.open_memmap(target, mode="w+", dtype=np.uint8, shape=shape)
    _reserve(target)
    with ThreadPoolExecutor(_threads()) as pool:
        for start in range(0, len(files), _BLOCK):
            block = files[start : start + _BLOCK]
            store = partial(_decode_into, images, size, bits)
            # Each thread writes its own row, so no decoded image waits in memory; errors come in order.
            for _ in pool.map(store, range(start, start + len(block)), block):
                pass
    images.flush()
    with target.open("rb+") as file:
        os.fsync(file.fileno())


def _reserve(target: Path) -> None:
    """Claim the disk space now: running out of it while writing to a mapped file kills the process."""
    if hasattr(os, "posix_fallocate"):
        with target.open("rb+") as file:
            os.posix_fallocate(file.fileno(), 0, target.stat().st_size)


def _decode_into(images: NDArray[np.uint8], size: tuple[int, int], bits: int, row: int, file: Path) -> None:
    images[row] = decode(file, size, bits)


def _threads() -> int:
    return min(32, processors())
