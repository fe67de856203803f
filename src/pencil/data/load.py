"""Finds the source that settings name, reads it and prepares it for a run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from typing import Any

from pencil import plugins
from pencil.config.own_code import MARK
from pencil.config.settings import DataSettings
from pencil.data.dataset import Dataset
from pencil.data.files.streams import refuse_stream
from pencil.data.prepare import prepare
from pencil.data.request import Request, default_cache_dir
from pencil.errors import NoSuchSource, PencilError, did_you_mean

PACKAGE = "pencil.data.sources"

HUGGING_FACE = "hf:"
_BY_SUFFIX = {".npz": "npz", ".csv": "table", ".tsv": "table", ".parquet": "table", ".pq": "table"}
_BY_FILE = {
    "train_test_split.txt": "cub200",
    "noisy_label_kv.txt": "clothing1m",
    "data_batch_1.bin": "cifar10",
    "data_batch_1": "cifar10",
    "fine_label_names.txt": "cifar100",
    "meta": "cifar100",
}
_OF_A_RUN = ("status.json", "config.toml")
"""What a run's folder holds: none of it is data, and none may be taken for damaged data that one had better remove."""
_BY_FOLDER = {
    "cifar-10-batches-bin": "cifar10",
    "cifar-10-batches-py": "cifar10",
    "cifar-100-binary": "cifar100",
    "cifar-100-python": "cifar100",
    "CUB_200_2011": "cub200",
}


def load(settings: DataSettings, *, seed: int, download: bool = False, cache_dir: Path | None = None) -> Dataset:
    """Read a dataset by a source's name, a path or `file.py:name`; label, contaminate, split and measure it."""
    return prepare(read(settings, download=download, cache_dir=cache_dir), settings, seed=seed)


def read(
    settings: DataSettings,
    *,
    download: bool = False,
    cache_dir: Path | None = None,
    labels_needed: bool = True,
    trained_features: Sequence[str] = (),
    trained_columns: Mapping[str, str] | None = None,
) -> Dataset:
    """Read a dataset as its source gives it, before labels, noise and split."""
    name, location = resolve(settings)
    request = Request(
        location=location,
        root=Path(settings.root) if settings.root else None,
        options=dict(settings.options),
        cache_dir=cache_dir or default_cache_dir(),
        download=download,
        labels_needed=labels_needed,
        trained_features=tuple(trained_features),
        trained_columns=dict(trained_columns or {}),
    )
    dataset = plugins.find(PACKAGE, name, "read", kind="source")(request)
    if not isinstance(dataset, Dataset):
        kind = type(dataset).__name__
        raise PencilError(f"{name} gave a {kind}; a source returns a Dataset, e.g. pencil.data.from_arrays(x, y).")
    return dataset


def original_files(settings: DataSettings) -> Mapping[str, Path] | None:
    """Return the image file of each id without decoding any; None where the source does not say.

    Only sources of this package are asked: code that others name is not run for it.
    """
    name, location = resolve(settings)
    listed = getattr(import_module(f"{PACKAGE}.{name}"), "original_files", None) if name in _names() else None
    root = Path(settings.root) if settings.root else None
    return listed and listed(Request(location=location, root=root, options=dict(settings.options), labels_needed=False))


def as_source(place: str | Path) -> str:
    """Return what names data in settings; a path that is called as a source is stays a path: `./digits`."""
    return f"./{place}" if isinstance(place, Path) and str(place) in _names() else str(place)


def source_kind(settings: DataSettings) -> str:
    """Return the name of the source that reads these settings; of a file that is gone, by what it was called."""
    try:
        return resolve(settings)[0]
    except NoSuchSource:
        if gone := _BY_SUFFIX.get(Path(settings.source).suffix.lower()):
            return gone
        raise


def _names() -> list[str]:
    return plugins.names(PACKAGE)


def resolve(settings: DataSettings) -> tuple[str, Path | None]:
    """Return the source's name and the place it should read; data must be named, and files of it be there."""
    source = settings.source
    if not source:
        raise PencilError(f"no data is named; give a folder, a file or a source.{did_you_mean('', _names())}")
    if source.startswith(HUGGING_FACE):
        return "hf", Path(source.removeprefix(HUGGING_FACE))
    if source in _names() or MARK in source:
        return source, Path(settings.root) if settings.root else None
    path = Path(source)
    if path.is_dir():
        if settings.root and Path(settings.root).resolve() != path.resolve():
            raise PencilError(f"{path} is a folder of data itself; leave out --root {settings.root}.")
        if all((path / name).is_file() for name in _OF_A_RUN):
            raise PencilError(
                f"{path} is the folder of a run, not of data; name the data. To go on with the run:"
                f" {shlex.join(['pencil', 'train', '--resume', '--out', source])}, to start a new one from it:"
                f" {shlex.join(['pencil', 'train', '--from', source])}"
            )
        return _folder_kind(path), path
    if path.is_file():
        if path.suffix.lower() not in _BY_SUFFIX:
            known = ", ".join(_BY_SUFFIX)
            raise PencilError(f"{path} is no kind of file that is known; give a folder of images or one of {known}.")
        return _BY_SUFFIX[path.suffix.lower()], path
    refuse_stream(path, "data.csv")
    if not _has_entry_point(source):
        if path.suffix or "/" in source or "\\" in source:
            raise NoSuchSource(f"{source} does not exist; give a folder, a file or a source's name.")
        raise NoSuchSource(f'there is no source, folder or file "{source}".{did_you_mean(source, _names())}')
    return source, Path(settings.root) if settings.root else None


def _folder_kind(path: Path) -> str:
    """Recognise a published layout by what lies in it; any other folder is one of images."""
    by_file = (name for marker, name in _BY_FILE.items() if (path / marker).is_file())
    by_folder = (name for marker, name in _BY_FOLDER.items() if (path / marker).is_dir())
    return next(chain(by_file, by_folder), "image_folder")


def _has_entry_point(name: str) -> bool:
    found: Any = entry_points(group="pencil.sources", name=name)
    return bool(found)
