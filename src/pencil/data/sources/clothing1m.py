"""Clothing1M: a million photographs of clothes in 14 classes, labelled by the words around them.

Trained on is the paper's pseudo-balanced subset: equally many examples of each given class, drawn once.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pencil.data.dataset import UNLABELLED, Dataset, Examples
from pencil.data.files.lists import read_lines, read_numbers
from pencil.data.images import image_files
from pencil.data.images.cache import MappedInputs
from pencil.data.request import Request
from pencil.errors import PencilError

_PER_CLASS = 18_571
"""14 times this is the 260,000 of the paper."""


def read(request: Request) -> Dataset:
    """Read the published folder; clean validation is held out, clean test is the test set.

    Options: per_class (0 takes all), subset_seed, clean_train (adds the clean training images, as trusted).
    """
    request.check_options("clothing1m", (*image_files.OPTIONS, "per_class", "subset_seed", "clean_train"))
    root = request.existing("clothing1m")
    classes = _class_names(root)
    noisy = read_numbers(root / "noisy_label_kv.txt", len(classes))
    clean = read_numbers(root / "clean_label_kv.txt", len(classes))
    chosen, per_class = _pseudo_balanced(_labels(root / "noisy_train_key_list.txt", noisy), len(classes), request)
    trusted = _labels(root / "clean_train_key_list.txt", clean) if request.flag("clean_train") else {}
    held_out = _labels(root / "clean_val_key_list.txt", clean)
    test = _labels(root / "clean_test_key_list.txt", clean)
    train = {**chosen, **trusted}
    keys = [*train, *held_out, *test]
    files = [_image(root, key) for key in keys]
    inputs, preparation, _, facts = image_files.read_images(files, keys, request, size=256, pretrained=True)
    cut, end = len(train), len(train) + len(held_out)
    marks = np.array([key in trusted for key in train], dtype=np.bool_) if trusted else None
    truth = np.array([clean.get(key, UNLABELLED) for key in train], dtype=np.int64)
    facts["subset"] = f"{per_class} examples of each given class, drawn with seed {request.integer('subset_seed', 0)}"
    return Dataset(
        name="clothing1m",
        class_names=classes,
        train=Examples(inputs.part(0, cut), _ids(train), _numbers(train), trusted=marks, clean=truth),
        held_out=_verified(inputs.part(cut, end), held_out),
        test=_verified(inputs.part(end, len(keys)), test),
        preparation=preparation,
        default_backbone="resnet50",
        facts=facts,
    )


def original_files(request: Request) -> dict[str, Path]:
    """Return the file of each image."""
    root = request.existing("clothing1m")
    lists = (read_numbers(root / f"{name}_label_kv.txt", len(_class_names(root))) for name in ("noisy", "clean"))
    return {key: _image(root, key) for keys in lists for key in keys}


def _class_names(root: Path) -> tuple[str, ...]:
    for name in ("category_names_eng.txt", "category_names_chn.txt"):
        if (root / name).is_file():
            return tuple(read_lines(root / name))
    raise PencilError(f"{root / 'category_names_eng.txt'} is missing; give the folder of the whole dataset.")


def _labels(path: Path, known: dict[str, int]) -> dict[str, int]:
    """Return the label of each key in a list."""
    keys = read_lines(path)
    for key in keys:
        if key not in known:
            raise PencilError(f'{path}: "{key}" has no label; unpack the dataset again.')
    return {key: known[key] for key in keys}


def _image(root: Path, key: str) -> Path:
    return root / key if key.startswith("images/") else root / "images" / key


def _pseudo_balanced(labels: dict[str, int], num_classes: int, request: Request) -> tuple[dict[str, int], int]:
    """Draw equally many of each class, as many as the smallest has if it has fewer than asked."""
    keys, given = list(labels), _numbers(labels)
    counts = np.bincount(given, minlength=num_classes)
    per_class = request.integer("per_class", _PER_CLASS)
    if not per_class:
        return labels, 0
    if not counts.all():
        raise PencilError(
            f"clothing1m has no noisy example of class {int(counts.argmin())}; give option per_class = 0."
        )
    per_class = min(per_class, int(counts.min()))
    rng = np.random.default_rng(request.integer("subset_seed", 0))
    members = [np.flatnonzero(given == label) for label in range(num_classes)]
    drawn = [rng.choice(places, size=per_class, replace=False) for places in members]
    return {keys[place]: labels[keys[place]] for place in np.sort(np.concatenate(drawn))}, per_class


def _numbers(labels: dict[str, int]) -> NDArray[np.int64]:
    return np.array(list(labels.values()), dtype=np.int64)


def _ids(labels: dict[str, int]) -> NDArray[np.str_]:
    return np.array(list(labels), dtype=np.str_)


def _verified(inputs: MappedInputs, labels: dict[str, int]) -> Examples:
    return Examples(inputs, _ids(labels), _numbers(labels), clean=_numbers(labels))
