"""Files of a few bytes that stand for very many: reading them would take all memory, or for ever."""

import struct
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..data import fakes
from .bases import Base, load


def packed(place: Path, cache: Path) -> Iterator[Base]:
    """Yield them, one for each way of packing."""
    yield from _tables(place, cache)
    yield from _pickles(place, cache)
    yield from _archives(place, cache)


def _tables(place: Path, cache: Path) -> Iterator[Base]:
    import pyarrow as pa
    from pyarrow import parquet

    rows = place / "few.npz"
    np.savez(rows, x=np.random.default_rng(0).random((6, 2)), y=np.arange(6) % 2)
    text, zeros = pa.array(["a" * 2**20]), pa.array(np.zeros(4000, np.int32))
    repeated = pa.DictionaryArray.from_arrays(zeros, text)
    tables = {
        "long-text": pa.table({"kind": repeated, "label": zeros}),
        "long-label": pa.table({"label": repeated}),
        "same-number": pa.table({"label": pa.array(np.zeros(150_000_000, np.int8))}),
    }
    for name, table in tables.items():
        parquet.write_table(table, place / f"{name}.parquet")
        yield Base(f"a table that unpacks to gigabytes ({name})", (), load(cache, place / f"{name}.parquet"))
    labels = place / "long-label.parquet"
    yield Base("a label file that unpacks to gigabytes", (), load(cache, rows, labels=str(labels)))
    wide = place / "wide.csv"
    wide.write_text(",".join(f"{column:x}" for column in range(150_000)) + ",label\n")
    yield Base("a table of 150,000 columns", (), load(cache, wide))


def _pickles(place: Path, cache: Path) -> Iterator[Base]:
    doubled = b"]K\x01a" + b"".join(b"q" + bytes([n]) + b"h" + bytes([n]) + b"\x86" for n in range(40))
    array = b"cnumpy.core.numeric\n_frombuffer\n(" + b"\x8a\x05" + (10 * 2**30).to_bytes(5, "little")
    array += b"cnumpy\ndtype\nX\x02\0\0\0u1\x85RK\x01\x85tR"
    contents = {"a list of lists of lists": doubled, "an array of so many bytes": array}
    for number, (name, value) in enumerate(contents.items()):
        folder = fakes.cifar10_pickles(place / f"doubled{number}", per_batch=2)
        (folder / "data_batch_1").write_bytes(b"\x80\x02}X\x04\0\0\0data" + value + b"sX\x06\0\0\0labels]K\x01as.")
        yield Base(f"{name} in a CIFAR pickle", (), load(cache, "cifar10", root=str(folder)))


def _archives(place: Path, cache: Path) -> Iterator[Base]:
    """An .npz whose directory lies along with its headers, and a tar of one huge file that is not there."""
    from pencil.data.files.download import unpack

    size, path = 0xF0000000, place / "lie.npz"
    with path.open("wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("x.npy", "y.npy"):
            with archive.open(name, "w") as file:
                np.lib.format.write_array_header_1_0(
                    file, {"shape": (size - 128,), "fortran_order": False, "descr": "|u1"}
                )
    content, at = bytearray(path.read_bytes()), 0
    while (at := content.find(b"PK\x01\x02", at)) >= 0:
        content[at + 24 : at + 28] = struct.pack("<I", size)
        at += 4
    path.write_bytes(content)
    yield Base("an .npz that claims 4 GB twice", (), load(cache, path))
    member, tar, target = tarfile.TarInfo("big"), place / "claim.tar", place / "unpacked claim"
    member.size = 10 * 2**30
    tar.write_bytes(member.tobuf(tarfile.GNU_FORMAT) + bytes(2048))
    target.mkdir()
    yield Base("a tar that claims 10 GiB", (), lambda: unpack(tar, target, name=tar.name))
