"""Small data in the layouts that the sources read."""

import io
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def pixels(count: int, side: int = 32, *, seed: int = 0) -> NDArray[np.uint8]:
    """Random images [n, side, side, 3]."""
    return np.random.default_rng(seed).integers(0, 256, (count, side, side, 3), dtype=np.uint8)


def save_image(path: Path, image: NDArray[np.uint8]) -> Path:
    """Write one image, its folders too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)
    return path


def image_folder(root: Path, *, classes: tuple[str, ...] = ("cat", "dog"), per_class: int = 3, side: int = 16) -> Path:
    """`root/<class>/<number>.png`."""
    for number, name in enumerate(classes):
        for place, image in enumerate(pixels(per_class, side, seed=number)):
            save_image(root / name / f"{place}.png", image)
    return root


def cifar_labels(count: int, classes: int) -> NDArray[np.int64]:
    """Every class in turn."""
    return np.arange(count) % classes


def cifar10_binary(root: Path, *, per_batch: int = 10) -> Path:
    """The five batches and the test batch of the binary CIFAR-10."""
    folder = root / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    for seed, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        _binary(folder / f"{name}.bin", pixels(per_batch, seed=seed), cifar_labels(per_batch, 10)[:, None])
    names = "airplane automobile bird cat deer dog frog horse ship truck"
    (folder / "batches.meta.txt").write_text("\n".join(names.split()) + "\n\n")
    return folder


def cifar10_pickles(root: Path, *, per_batch: int = 10) -> Path:
    """The same images as cifar10_binary, as the Python pickles."""
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for seed, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        content = {"data": _planes(pixels(per_batch, seed=seed)), "labels": cifar_labels(per_batch, 10).tolist()}
        old_pickle(folder / name, content)
    old_pickle(folder / "batches.meta", {"label_names": [f"class{n}" for n in range(10)]})
    return folder


def cifar100(root: Path, *, binary: bool, count: int = 200) -> Path:
    """CIFAR-100 in either layout, with the same images."""
    folder = root / ("cifar-100-binary" if binary else "cifar-100-python")
    folder.mkdir(parents=True)
    fine = cifar_labels(count, 100)
    for seed, name in enumerate(("train", "test")):
        images = pixels(count, seed=seed)
        if binary:
            _binary(folder / f"{name}.bin", images, np.stack([fine // 5, fine], axis=1))
        else:
            content = {"data": _planes(images), "fine_labels": fine.tolist(), "coarse_labels": (fine // 5).tolist()}
            old_pickle(folder / name, content)
    names = {kind: [f"{kind}{n}" for n in range(size)] for kind, size in (("fine", 100), ("coarse", 20))}
    if binary:
        for kind, words in names.items():
            (folder / f"{kind}_label_names.txt").write_text("\n".join(words))
    else:
        old_pickle(folder / "meta", {f"{kind}_label_names": words for kind, words in names.items()})
    return folder


def _planes(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(images), -1)


def _binary(path: Path, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> None:
    np.concatenate([labels.astype(np.uint8), _planes(images)], axis=1).tofile(path)


def old_pickle(path: Path, content: dict[str, Any]) -> None:
    """Write a pickle as the published ones are: protocol 2, with NumPy's function at its former place."""
    data = pickle.dumps({key.encode(): value for key, value in content.items()}, protocol=2)
    path.write_bytes(data.replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))


def archive(folder: Path, path: Path) -> Path:
    """Pack a folder as a tar.gz."""
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder, arcname=folder.name)
    return path


def escaping_archive(path: Path) -> Path:
    """A tar that would write beside the folder it is unpacked in."""
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("../escaped.txt")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"evil"))
    return path


def cub200(root: Path) -> Path:
    """Three kinds of birds, four images each, every fourth for test."""
    folder = root / "CUB_200_2011"
    lines: dict[str, list[str]] = {name: [] for name in ("images", "image_class_labels", "train_test_split")}
    kinds = ["001.Albatross", "002.Auklet", "003.Bunting"]
    for number, image in enumerate(pixels(12, 20), start=1):
        kind = (number - 1) // 4
        name = f"{kinds[kind]}/bird_{number:04d}.jpg"
        save_image(folder / "images" / name, image)
        lines["images"].append(f"{number} {name}")
        lines["image_class_labels"].append(f"{number} {kind + 1}")
        lines["train_test_split"].append(f"{number} {int(number % 4 != 0)}")
    for name, content in lines.items():
        (folder / f"{name}.txt").write_text("\n".join(content) + "\n")
    (folder / "classes.txt").write_text("".join(f"{n} {kind}\n" for n, kind in enumerate(kinds, start=1)))
    return folder


def clothing1m(root: Path) -> Path:
    """Three classes with 6, 4 and 5 noisy examples, and two clean images in each clean set."""
    noisy = {f"images/0/{n:02d}.jpg": n % 3 for n in range(12)} | {"images/1/90.jpg": 0, "images/1/91.jpg": 0}
    noisy |= {"images/1/92.jpg": 2}
    clean = {f"images/2/{n:02d}.jpg": n % 3 for n in range(6)}
    for image, key in zip(pixels(len(noisy) + len(clean), 20), [*noisy, *clean], strict=True):
        save_image(root / key, image)
    # Some noisy images were labelled by people as well.
    labels = {"noisy_label_kv": noisy, "clean_label_kv": clean | {"images/0/01.jpg": 2}}
    for name, pairs in labels.items():
        (root / f"{name}.txt").write_text("".join(f"{key} {label}\n" for key, label in pairs.items()))
    lists = {"noisy_train": list(noisy), "clean_train": list(clean)[:2], "clean_val": list(clean)[2:4]}
    for name, keys in (lists | {"clean_test": list(clean)[4:]}).items():
        (root / f"{name}_key_list.txt").write_text("\n".join(keys) + "\n")
    (root / "category_names_eng.txt").write_text("T-Shirt\nShirt\nKnitwear\n")
    return root
