"""CUB-200-2011: 11,788 photographs of 200 kinds of birds, in the folder its authors publish."""

from pathlib import Path

import numpy as np

from pencil.data.dataset import Dataset, Examples
from pencil.data.files.lists import read_numbers, read_pairs
from pencil.data.images import image_files
from pencil.data.request import Request
from pencil.errors import PencilError

_FOLDER = "CUB_200_2011"


def read(request: Request) -> Dataset:
    """Read the folder CUB_200_2011, or the one that holds it, with the published training and test sets."""
    request.check_options("cub200", image_files.OPTIONS)
    root = _root(request)
    classes = _class_names(root / "classes.txt")
    paths = read_pairs(root / "images.txt")
    labels = read_numbers(root / "image_class_labels.txt", len(classes), first=1)
    in_train = read_numbers(root / "train_test_split.txt", 2)
    for key in paths:
        if key not in labels or key not in in_train:
            raise PencilError(f"{root}: image {key} has no class or no set; unpack the dataset again.")
    # Training images first, so that each set is one run of the decoded file.
    order = sorted(paths, key=lambda key: (not in_train[key], len(key), key))
    names = [paths[key] for key in order]
    files = [root / "images" / Path(name) for name in names]
    inputs, preparation, _, facts = image_files.read_images(files, names, request, size=256, pretrained=True)
    targets = np.array([labels[key] for key in order], dtype=np.int64)
    ids, cut = np.array(names, dtype=np.str_), sum(in_train[key] for key in order)
    train = Examples(inputs.part(0, cut), ids[:cut], targets[:cut], clean=targets[:cut])
    test = Examples(inputs.part(cut, len(ids)), ids[cut:], targets[cut:], clean=targets[cut:])
    return Dataset("cub200", classes, train, preparation, test=test, default_backbone="resnet50", facts=facts)


def original_files(request: Request) -> dict[str, Path]:
    """Return the file of each image."""
    root = _root(request)
    return {name: root / "images" / name for name in read_pairs(root / "images.txt").values()}


def _class_names(path: Path) -> tuple[str, ...]:
    """Return what classes are called by their numbers, which count from 1, in whatever order they are listed."""
    names = read_pairs(path)
    if set(names) != {str(number + 1) for number in range(len(names))}:
        raise PencilError(f"{path} does not number its classes from 1 to {len(names)}; unpack the dataset again.")
    return tuple(names[str(number + 1)] for number in range(len(names)))


def _root(request: Request) -> Path:
    root = request.existing("cub200")
    return root / _FOLDER if (root / _FOLDER).is_dir() else root
