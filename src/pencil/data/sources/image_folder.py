"""A folder of images, one folder for each class.

photos/cat/1.jpg                                   one set
photos/train/cat/1.jpg, photos/test/…, photos/val/…   sets of their own; `val` is kept apart, never trained on
"""

from pathlib import Path

import numpy as np
from PIL import Image

from pencil.data.dataset import UNLABELLED, Dataset, Examples
from pencil.data.images import image_files
from pencil.data.request import Request
from pencil.errors import PencilError, did_you_mean
from pencil.lines import counted, is_unicode

_SETS = {
    "train": "train",
    "training": "train",
    "val": "held_out",
    "valid": "held_out",
    "validation": "held_out",
    "test": "test",
}
_ORDER = ("train", "held_out", "test")
_NOT_DATA = {"thumbs.db", "desktop.ini"}


def read(request: Request) -> Dataset:
    """Read every file under a class's folder, nested folders too; class and file names are sorted."""
    request.check_options("image_folder", image_files.OPTIONS)
    root = request.existing("image_folder")
    if not root.is_dir():
        raise PencilError(f"{root} is a file; give the folder that holds a folder for each class.")
    if not request.labels_needed and not _subfolders(root):
        return _unlabelled(root, request)
    folders = _set_folders(root)
    classes = tuple(folder.name for folder in _subfolders(folders["train"]))
    if not classes:
        raise PencilError(
            f"{folders['train']} holds no folders; put the images of each class into a folder of its own."
        )
    listed = {name: _list_set(folder, classes, name) for name, folder in folders.items()}
    entries = [entry for name in _ORDER for entry in listed.get(name, [])]
    ids = _ids([path for path, _ in entries], root)
    inputs, preparation, backbone, facts = image_files.read_images([path for path, _ in entries], ids, request)
    if line := _left_out(root, folders):
        facts["left_out"] = line
    sets, start = {}, 0
    for name in _ORDER:
        if name in listed:
            stop = start + len(listed[name])
            labels = np.array([label for _, label in listed[name]], dtype=np.int64)
            sets[name] = Examples(inputs.part(start, stop), np.array(ids[start:stop], dtype=np.str_), labels)
            start = stop
    return Dataset(
        name=root.resolve().name, class_names=classes, preparation=preparation, default_backbone=backbone,
        facts=facts, train=sets["train"], held_out=sets.get("held_out"), test=sets.get("test"), terms=np.array(classes),
    )  # fmt: skip


def original_files(request: Request) -> dict[str, Path]:
    """Return the file of each image."""
    root = request.existing("image_folder")
    folders = [inner for folder in _set_folders(root).values() for inner in _subfolders(folder)] or [root]
    return {file.relative_to(root).as_posix(): file for folder in folders for file in _files(folder)}


def _unlabelled(root: Path, request: Request) -> Dataset:
    """Read the images that lie in one folder, of no known class."""
    files = _files(root)
    if not files:
        raise PencilError(f"{root} holds no images; give a folder that does.")
    ids = _ids(files, root)
    inputs, preparation, backbone, facts = image_files.read_images(files, ids, request)
    examples = Examples(inputs, np.array(ids, dtype=np.str_), np.full(len(files), UNLABELLED, dtype=np.int64))
    return Dataset(root.resolve().name, (), examples, preparation, default_backbone=backbone, facts=facts)


def _ids(files: list[Path], root: Path) -> list[str]:
    """Name images by their paths below the folder; a name of another encoding could be written into no file."""
    for file in files:
        if not is_unicode(str(file)):
            raise PencilError(f"the name of {str(file)!a} is not UTF-8; rename it.")
    return [file.relative_to(root).as_posix() for file in files]


def _subfolders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _set_folders(root: Path) -> dict[str, Path]:
    """Find train, val and test; where any folder has another name they are all classes."""
    found = _subfolders(root)
    sets = {_SETS[folder.name.lower()]: folder for folder in found if folder.name.lower() in _SETS}
    if "train" not in sets or not _subfolders(sets["train"]):
        return {"train": root}
    others = [folder for folder in found if folder.name.lower() not in _SETS]
    if not others:
        for folder in found:
            if (fellow := sets[_SETS[folder.name.lower()]]) != folder:
                raise PencilError(
                    f"{root} has the folders {folder.name} and {fellow.name}, which are the same set; put all of its"
                    " images into one of them."
                )
        return sets
    classes = {folder.name for folder in _subfolders(sets["train"])}
    for other in others:
        if len(sets) > 1 or classes & {folder.name for folder in _subfolders(other)}:
            raise PencilError(
                f"{root} has the folder {other.name} beside {sets['train'].name}, which looks like a set; sets are"
                " called train, val and test: rename it, or move it elsewhere."
            )
    return {"train": root}


def _list_set(folder: Path, classes: tuple[str, ...], name: str) -> list[tuple[Path, int]]:
    """Return every file of a set with its class."""
    entries = []
    for subfolder in _subfolders(folder):
        if subfolder.name not in classes:
            remedy = did_you_mean(subfolder.name, classes)
            raise PencilError(f"{subfolder} is the folder of no training class.{remedy}")
        files = _files(subfolder)
        if not files and name == "train":
            raise PencilError(f"{subfolder} holds no images; fill it or remove it.")
        entries += [(file, classes.index(subfolder.name)) for file in files]
    if not entries:
        raise PencilError(f"{folder} holds no images; fill it or remove it.")
    return entries


def _left_out(root: Path, folders: dict[str, Path]) -> str:
    """Say how many images lie beside the class folders, and how many links are not followed, where there are any."""
    known = Image.registered_extensions()
    beside = {file for folder in (root, *folders.values()) for file in folder.iterdir() if file.is_file()}
    loose = sum(file.suffix.lower() in known and not _is_hidden(Path(file.name)) for file in beside)
    classes = [inner for folder in folders.values() for inner in _subfolders(folder)]
    inside = [path for folder in classes for path in folder.rglob("*")]
    directly = [path for folder in folders.values() for path in folder.iterdir() if not path.is_dir()]
    links = [path for path in (*directly, *inside) if path.is_symlink() and not _is_hidden(path.relative_to(root))]
    broken = sum(not path.exists() for path in links)
    # A class's own folder may be a link; one inside of it could lead round in a circle, and is not followed.
    linked = sum(path.is_dir() for path in links)
    told = [counted(loose, "image") + " beside the class folders"] if loose else []
    told += [counted(broken, "link") + " leading nowhere"] if broken else []
    told += [counted(linked, "linked folder") + " inside the class folders"] if linked else []
    return f"{root.name}: left out are {' and '.join(told)}." if told else ""


def _files(folder: Path) -> list[Path]:
    inside = [path for path in folder.rglob("*") if path.is_file()]
    wanted = [path for path in inside if not _is_hidden(path.relative_to(folder))]
    return sorted(wanted, key=lambda path: path.relative_to(folder).as_posix())


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts) or path.name.lower() in _NOT_DATA
