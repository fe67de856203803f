"""A small valid input for every reader, and how it is read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data import fakes

Read = Callable[[], object]


@dataclass(frozen=True)
class Base:
    """Files that a reader reads, each of which can be damaged."""

    name: str
    files: tuple[Path, ...]
    read: Read


def bases(place: Path, cache: Path) -> list[Base]:
    """Write the inputs of all readers."""
    made = [_arrays(place, cache), *_tables(place, cache), *_folders(place, cache), *_label_files(place, cache)]
    return [*made, _config(place), _archive(place, cache)]


def load(cache: Path, source: object, **how: Any) -> Read:
    """Return a call that reads a source as a run does."""

    def read() -> object:
        from pencil.config import DataSettings
        from pencil.data.load import load as load_data

        return load_data(DataSettings(source=str(source), **how), seed=0, cache_dir=cache)

    return read


def _arrays(place: Path, cache: Path) -> Base:
    path = place / "rows.npz"
    rng = np.random.default_rng(0)
    x, y = rng.random((24, 5)).astype(np.float32), np.arange(24) % 3
    np.savez(path, x=x, y=y, clean=y, ids=np.array([f"id{n}" for n in range(24)]), class_names=np.array(list("abc")))
    return Base("npz", (path,), load(cache, path))


def _tables(place: Path, cache: Path) -> list[Base]:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {
        "id": [f"row{n}" for n in range(20)],
        "height": [n / 7 for n in range(20)],
        "kind": ["big" if n % 2 else "small" for n in range(20)],
        "label": ["cat" if n % 3 else "dög" for n in range(20)],
        "split": ["train"] * 14 + ["val"] * 3 + ["test"] * 3,
    }
    lines = [",".join(columns), *(",".join(str(v[n]) for v in columns.values()) for n in range(20))]
    csv, tsv, packed = place / "table.csv", place / "table.tsv", place / "table.parquet"
    csv.write_text("\n".join(lines) + "\n")
    tsv.write_text("\n".join(lines).replace(",", "\t") + "\n")
    parquet.write_table(pa.table(columns), packed)
    return [Base(path.name, (path,), load(cache, path)) for path in (csv, tsv, packed)]


def _folders(place: Path, cache: Path) -> list[Base]:
    photos = fakes.image_folder(place / "photos")
    fakes.save_image(photos / "cat" / "photo.jpg", fakes.pixels(1, 16)[0])
    fakes.save_image(photos / "dog" / "drawing.gif", fakes.pixels(1, 16)[0])
    fakes.save_image(photos / "dog" / "scan.tiff", fakes.pixels(1, 16)[0])
    folders = {
        "image_folder": photos,
        "cifar10": fakes.cifar10_binary(place / "c10b", per_batch=3),
        "cifar10 ": fakes.cifar10_pickles(place / "c10p", per_batch=3),
        "cifar100": fakes.cifar100(place / "c100b", binary=True, count=6),
        "cifar100 ": fakes.cifar100(place / "c100p", binary=False, count=6),
        "cub200": fakes.cub200(place / "birds"),
        "clothing1m": fakes.clothing1m(place / "clothes"),
    }
    found = []
    for name, folder in folders.items():
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        found.append(
            Base(name, tuple(files), load(cache, name.strip() if name[0] != "i" else folder, root=str(folder)))
        )
    return found


def _label_files(place: Path, cache: Path) -> list[Base]:
    import pyarrow as pa
    import torch
    from pyarrow import parquet

    rows = place / "plain.npz"
    x = np.random.default_rng(1).random((24, 5)).astype(np.float32)
    np.savez(rows, x=x, y=np.arange(24) % 3, ids=np.array([f"id{n}" for n in range(24)]))
    labels = np.arange(24)[::-1] % 3
    names = [place / f"labels.{end}" for end in ("npy", "npz", "pt", "txt", "csv", "parquet")]
    np.save(names[0], labels)
    np.savez(names[1], label=labels)
    torch.save({"label": torch.from_numpy(labels.copy())}, names[2])
    names[3].write_text("\n".join(map(str, labels)) + "\n")
    names[4].write_text("id,label\n" + "".join(f"id{n},{label}\n" for n, label in enumerate(labels)))
    parquet.write_table(pa.table({"id": [f"id{n}" for n in range(24)], "label": labels}), names[5])
    return [Base(path.name, (path,), load(cache, rows, labels=str(path))) for path in names]


def _config(place: Path) -> Base:
    path = place / "config.toml"

    def read() -> object:
        from pencil.config import from_document, read_toml

        return from_document(read_toml(path))

    path.write_text(
        'method = "pencil"\nseed = 3\n[data]\nsource = "digits"\nnoise = "symmetric:0.4"\nheld_out = 0.1\n'
        '[optimizer]\nbatch_size = 16\nmomentum = 0.9\n[phases.backbone]\nepochs = 3\nlr = "0.1 -> 0"\n'
        '[options]\nlabel_step = "2"\n[hardware]\nthreads = 1\nresident = "auto"\n'
    )
    return Base("config", (path,), read)


def _archive(place: Path, cache: Path) -> Base:
    folder = place / "packed"
    fakes.image_folder(folder, per_class=1)
    path, target = fakes.archive(folder, place / "data.tar.gz"), cache / "unpacked"

    def read() -> object:
        from pencil.data.files.download import unpack

        target.mkdir(exist_ok=True)
        unpack(path, target, name="data.tar.gz")
        return None

    return Base("archive", (path,), read)
