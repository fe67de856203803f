"""A run folder holds plain files and folders alone: links in a stranger's could lead to files of the user's."""

import os
from pathlib import Path

from pencil.errors import PencilError

FOLDERS = ("checkpoint", "table", "pictures", "watch")
"""Folders in a run folder that are written to."""


def refuse_links(folder: Path) -> None:
    """Refuse a run folder with links, pipes or devices among its files, before any of them is opened."""
    for place in (folder, *(folder / name for name in FOLDERS)):
        try:
            entries = list(os.scandir(place))
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            if entry.is_symlink():
                raise PencilError(
                    f"{entry.path} is a link; a run folder holds its files itself: put a copy in its place."
                )
            if not (entry.is_file() or entry.is_dir()):
                raise PencilError(f"{entry.path} is no file; remove it from the run folder.")
