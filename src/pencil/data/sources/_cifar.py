"""Reads CIFAR's two published layouts: the binary files, and the Python pickles without running them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data.dataset import ArrayInputs, Examples
from pencil.data.files.download import download_archive
from pencil.data.files.lists import read_lines
from pencil.data.files.pickles import read_pickle
from pencil.data.request import Request
from pencil.errors import PencilError

_PIXELS = 3072


@dataclass(frozen=True)
class Layout:
    """Where one CIFAR keeps what; file names are for training and for test."""

    title: str
    url: str
    md5: str
    binary_folder: str
    binary_files: tuple[tuple[str, ...], tuple[str, ...]]
    binary_names: str
    label_bytes: int
    """Bytes before each image."""
    pickle_folder: str
    pickle_files: tuple[tuple[str, ...], tuple[str, ...]]
    pickle_names: str


@dataclass(frozen=True, eq=False)
class Part:
    """The images of the training or test set, with every kind of label they have."""

    images: NDArray[np.uint8]
    """[n, 32, 32, 3]"""
    labels: NDArray[np.int64]
    """[n, label_bytes]"""


def find_folder(layout: Layout, request: Request) -> tuple[Path, bool]:
    """Return the folder that holds the files and whether it is the binary layout; download it where allowed."""
    home = request.location or request.cache_dir / layout.binary_folder
    for attempt in range(2):
        for folder in (home, home / layout.binary_folder, home / layout.pickle_folder):
            if (folder / layout.binary_files[0][0]).is_file():
                return folder, True
            if (folder / layout.pickle_files[0][0]).is_file():
                return folder, False
        if not request.download or attempt:
            break
        download_archive(layout.url, home, md5=layout.md5)
    raise PencilError(
        f"{home} holds no {layout.title} ({layout.binary_folder} or {layout.pickle_folder});"
        " give its folder with --root, or allow the download with --download."
    )


def read_part(layout: Layout, folder: Path, *, binary: bool, test: bool) -> Part:
    """Read the training or the test images of a folder."""
    files = (layout.binary_files if binary else layout.pickle_files)[test]
    for name in files:
        if not (folder / name).is_file():
            raise PencilError(f"{folder / name} is missing; unpack the whole archive of {layout.title} again.")
    read = _read_binary if binary else _read_pickled
    parts = [read(folder / name, layout) for name in files]
    pixels = np.concatenate([part[0] for part in parts]).reshape(-1, 3, 32, 32)
    labels = np.concatenate([part[1] for part in parts])
    return Part(np.ascontiguousarray(pixels.transpose(0, 2, 3, 1)), labels)


def _read_binary(path: Path, layout: Layout) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    record = layout.label_bytes + _PIXELS
    data = np.fromfile(path, dtype=np.uint8)
    if not len(data) or len(data) % record:
        raise PencilError(f"{path} has {len(data)} bytes, not a multiple of {record}: it is cut off, download it anew.")
    records = data.reshape(-1, record)
    return records[:, layout.label_bytes :], records[:, : layout.label_bytes].astype(np.int64)


def _read_pickled(path: Path, layout: Layout) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    content = read_pickle(path)
    keys = ("labels",) if layout.label_bytes == 1 else ("coarse_labels", "fine_labels")
    try:
        pixels = _flat(content["data"], np.uint8).reshape(-1, _PIXELS)
        labels = np.stack([_flat(content[key], np.int64) for key in keys], axis=1)
    except (KeyError, TypeError, ValueError) as error:
        raise PencilError(f"{path} is not a batch of {layout.title} ({error!r}); download it again.") from error
    if len(pixels) != len(labels):
        raise PencilError(f"{path} has {len(pixels)} images and {len(labels)} labels; download it again.")
    return pixels, labels


def _flat(values: Any, kind: type[np.generic]) -> NDArray[Any]:
    """Return an array or a list of numbers; lists of lists of … could unpack to anything."""
    if not isinstance(values, np.ndarray) and not (isinstance(values, list) and all(type(v) is int for v in values)):
        raise TypeError("neither an array nor a list of numbers")
    return np.asarray(values, dtype=kind)


def read_names(layout: Layout, folder: Path, *, binary: bool, key: str) -> tuple[str, ...]:
    """Read the class names that lie beside the data, or none."""
    if binary:
        path = folder / layout.binary_names.format(key.removesuffix("_label_names"))
        return tuple(read_lines(path)) if path.is_file() else ()
    path = folder / layout.pickle_names
    names = read_pickle(path).get(key, []) if path.is_file() else []
    if not isinstance(names, list) or not all(isinstance(name, str | bytes) for name in names):
        raise PencilError(f"{path} has no list of names; download it again.")
    return tuple(name.decode("utf-8", "replace") if isinstance(name, bytes) else name for name in names)


def examples(part: Part, column: int, prefix: str) -> Examples:
    """Name the images by their place in the published order; their labels are known to be right."""
    labels = np.ascontiguousarray(part.labels[:, column])
    ids = np.array([f"{prefix}/{place:05d}" for place in range(len(labels))], dtype=np.str_)
    return Examples(ArrayInputs(part.images), ids, labels, clean=labels)
