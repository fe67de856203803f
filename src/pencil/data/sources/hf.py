"""A Hugging Face dataset: hf:NAME from the hub, or hf:FOLDER that `save_to_disk` wrote or `load_dataset` reads.

Options: `config` (the hub's subset), `split` (the one to train on, else train), `label` (else the ClassLabel column),
`image` or `features` (else the image column, else all other columns), `words` (texts that are learned from by the words
in them), `ignore` (columns that are not looked at), `id`, `clean`, `size`, `crop`, `bits`.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pencil.data.dataset import Dataset
from pencil.data.hugging_face import OPTIONS, from_hugging_face
from pencil.data.request import Request
from pencil.errors import PencilError

_SAVED = ("dataset_dict.json", "state.json")
"""What `save_to_disk` leaves in a folder."""


def read(request: Request) -> Dataset:
    """Load without running anyone's code; the hub is asked only with --download."""
    request.check_options("hf", OPTIONS)
    if request.location is None:
        raise PencilError("hf needs a name; give hf:NAME of a dataset on the hub, or hf:FOLDER.")
    if request.location != request.root:
        request.refuse_root("what follows hf: is all that is read")
    name = str(request.location)
    try:
        return from_hugging_face(open_dataset(request), request, name=Path(name).name)
    except PencilError as error:
        raise PencilError(str(error) if name in str(error) else f"hf:{name}: {error}") from error


def open_dataset(request: Request) -> Any:
    """Return the loaded Dataset or DatasetDict."""
    location = request.location
    assert location is not None
    if not location.exists() and (location.is_absolute() or ".." in location.parts):
        raise PencilError(f"{location} does not exist; give hf:NAME of a dataset on the hub, or hf:FOLDER.")
    datasets = _library()
    try:
        if any((location / marker).is_file() for marker in _SAVED):
            return datasets.load_from_disk(str(location))
        with _offline(datasets, not (request.download or location.exists())):
            return datasets.load_dataset(location.as_posix(), request.text("config") or None, trust_remote_code=False)
    except Exception as error:  # the library and the hub fail in many ways, all of them about the name
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        remedy = "" if request.download or location.exists() else " Add --download to fetch it from the hub."
        where = "" if location.exists() else "is no folder here and "
        raise PencilError(f"hf:{location} {where}cannot be loaded ({reason}).{remedy}") from error


def _library() -> Any:
    try:
        return importlib.import_module("datasets")
    except ImportError as error:
        raise PencilError("hf: needs Hugging Face's datasets: pip install pencil-labels[hf]") from error


@contextlib.contextmanager
def _offline(datasets: Any, wanted: bool) -> Iterator[None]:
    """Use only what was fetched before."""
    hub = importlib.import_module("huggingface_hub.constants")
    places: tuple[Any, ...] = (datasets.config, hub)
    before = [(place, place.HF_HUB_OFFLINE) for place in places]
    for place, offline in before:
        place.HF_HUB_OFFLINE = offline or wanted
    try:
        yield
    finally:
        for place, offline in before:
            place.HF_HUB_OFFLINE = offline
