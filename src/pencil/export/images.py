"""The images of a run's examples: the files they came from, or PNG files where they came from arrays."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from PIL import Image

from pencil.config import DataSettings
from pencil.data.images.decode import image_suffix
from pencil.data.load import original_files
from pencil.data.located import Located, read_dataset, relocated
from pencil.data.shown import encode
from pencil.errors import NoSuchSource, PencilError
from pencil.export.names import file_name


@dataclass(frozen=True, eq=False)
class Images:
    """Puts examples into a folder, one file each."""

    ids: list[str]
    files: list[Path] | None
    """The files they came from."""
    arrays: Located | None
    copy: bool

    def name(self, row: int) -> str:
        """Return the file name of a row; its ending says what it is, even where that of its own file does not."""
        return file_name(row, self.ids[row], ".png" if self.files is None else image_suffix(self.files[row]))

    def put(self, row: int, folder: Path) -> Path:
        """Make the file of a row in a folder: a link to where it came from, a copy of it, or a PNG."""
        target = folder / self.name(row)
        if self.arrays is not None:
            target.write_bytes(encode(self.arrays.read(row)))
        elif self.files is not None and self.copy:
            shutil.copyfile(self.files[row], target)
        elif self.files is not None:
            _link(self.files[row], target)
        return target


def open_images(settings: DataSettings, ids: list[str], *, source: str, root: str, copy: bool) -> Images:
    """Find the images of a run's examples in its data, where it was or where the user says it is now."""
    if files := _originals(relocated(settings, source, root), ids):
        return Images(ids, files, None, copy)
    return Images(ids, None, Located(read_dataset(settings, source=source, root=root), ids, whole=True), copy)


def _originals(settings: DataSettings, ids: list[str]) -> list[Path] | None:
    """Return the image file of each id, if all have one: that which the data names, else that which the id does."""
    if not settings.source:
        return None
    try:
        named = original_files(settings)
    except NoSuchSource:
        named = None
    except PencilError:  # Whoever reads the data says better what is wrong with it.
        return None
    found = _below(settings, ids) if named is None else [named.get(name) for name in ids]
    files = [file for file in found if file is not None and _is_image(file)]
    return files if len(files) == len(ids) else None


def _below(settings: DataSettings, ids: list[str]) -> list[Path | None]:
    """Return the files that ids name below the data's folder."""
    place, known = Path(settings.source), Image.registered_extensions()
    base = place if place.is_dir() else Path(settings.root or place.parent)
    return [base / name if _is_inside(name, known) else None for name in ids]


def _is_inside(name: str, suffixes: dict[str, str]) -> bool:
    """Say whether an id is the path of an image below the data's folder; one with ".." is not."""
    path = PurePosixPath(name)
    plain = not path.is_absolute() and ".." not in path.parts and "\\" not in name and "\0" not in name
    return plain and path.suffix.lower() in suffixes


def _is_image(file: Path) -> bool:
    """Say whether a file is there and, by its ending or else its content, an image."""
    try:
        return file.is_file() and bool(image_suffix(file))
    except (PencilError, ValueError):  # The second for a name that no file can have.
        return False


def _link(file: Path, target: Path) -> None:
    try:
        os.symlink(file.resolve(), target)
    except OSError as error:
        raise PencilError(f"links cannot be made in {target.parent} ({error.strerror}); add --copy.") from error
