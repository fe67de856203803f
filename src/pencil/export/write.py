"""Writes a run's labels in a named form: a new file or folder, whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from pencil.errors import PencilError, did_you_mean
from pencil.export.images import Images, open_images
from pencil.export.labels import Labels, read_labels
from pencil.export.place import check_place
from pencil.results.atomic import cannot_write

FORMS = ("csv", "parquet", "image_folder", "hf_dataset", "cleanlab", "label_studio", "fiftyone")


@dataclass(frozen=True)
class Wanted:
    """Where an export takes images from, and how."""

    source: str = ""
    root: str = ""
    copy: bool = False

    def images(self, labels: Labels) -> Images:
        """Find the images of all examples."""
        if labels.kind != "images":
            found = "rows of a table" if labels.kind == "rows" else labels.kind
            raise PencilError(f"this export is of images, the run's data is {found}; use --to csv or parquet.")
        return open_images(labels.settings.data, labels.ids, source=self.source, root=self.root, copy=self.copy)


class Form(Protocol):
    """A module of this package: one form of export."""

    FOLDER: bool
    """Whether it is a folder; otherwise one file."""

    def write(self, labels: Labels, out: Path, wanted: Wanted) -> int:
        """Write the labels and return how many."""
        ...


def export_run(
    run: str | Path, to: str, out: str | Path, *, source: str = "", root: str = "", copy: bool = False
) -> int:
    """Write the final labels of a run in one of `FORMS` and return how many; what exists is never overwritten."""
    if to not in FORMS:
        raise PencilError(f'there is no export "{to}".{did_you_mean(to, FORMS)}')
    out, wanted = Path(out), Wanted(source, root, copy)
    check_place(out, to)
    labels = read_labels(run)
    form = cast(Form, import_module(f"pencil.export.{to}"))
    if not form.FOLDER:
        return form.write(labels, out, wanted)
    with _new_folder(out) as folder:
        return form.write(labels, folder, wanted)


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """Give a folder to fill; it gets its name only when all went well."""
    building = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        building.mkdir()
        yield building
        os.rename(building, out)
    except OSError as error:
        raise cannot_write(out, error) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
