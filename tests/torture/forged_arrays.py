"""Forged checkpoints, weights, distributions and tables of a run."""

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .forged_files import VALUES, Forgery


def checkpoints(run: Path, chance: random.Random) -> Iterator[Forgery]:
    """Checkpoints whose names fit their forged content."""
    from pencil.results.arrays import read_arrays, read_note

    newest = max((run / "checkpoint").glob("0*.safetensors"))
    arrays, note = read_arrays(newest), json.loads(read_note(newest))
    for name, array in arrays.items():
        how, changed = _otherwise(array, chance)
        forged = {key: value for key, value in {**arrays, name: changed}.items() if value is not None}
        yield f"checkpoint: {name} {how}", _saving(forged, note)
    for name in note:
        for value in chance.sample(VALUES, 4):
            yield f"checkpoint: {name} is {value!r}", _saving(arrays, note | {name: value})
    yield "checkpoint: no record", _saving(arrays, {})


def _saving(arrays: dict[str, Any], note: dict[str, Any]) -> Callable[[Path], None]:
    def forge(run: Path) -> None:
        from pencil.results.arrays import write_arrays

        for old in (run / "checkpoint").glob("*"):
            old.unlink()
        file = run / "checkpoint" / "new"
        write_arrays(file, arrays, note=json.dumps(note))
        file.rename(file.with_name(f"00000009-{hashlib.sha256(file.read_bytes()).hexdigest()}.safetensors"))

    return forge


def _otherwise(array: Any, chance: random.Random) -> tuple[str, Any]:
    """Return another array, or nothing, in the place of one."""
    ways: dict[str, Callable[[], Any]] = {
        "missing": lambda: None,
        "longer": lambda: np.concatenate([np.atleast_1d(array)] * 2),
        "empty": lambda: np.zeros((0, *array.shape[1:]), array.dtype),
        "of another kind": lambda: array.astype(np.float16 if array.dtype != np.float16 else np.int8),
        "out of range": lambda: np.full_like(array, 120 if array.dtype.itemsize == 1 else 2**15 - 1),
        "with more sides": lambda: array[..., None],
    }
    how = chance.choice(list(ways))
    with np.errstate(all="ignore"):
        return how, ways[how]()


def arrays(run: Path, chance: random.Random) -> Iterator[Forgery]:
    """Weights and label distributions that are not those of the run."""
    from pencil.results.arrays import read_arrays, write_arrays

    for file in ("model.safetensors", "label_distributions.safetensors"):
        arrays = read_arrays(run / file)
        for name, array in arrays.items():
            for _ in range(3):
                how, changed = _otherwise(array, chance)
                forged = {key: value for key, value in {**arrays, name: changed}.items() if value is not None}
                yield f"{file}: {name} {how}", lambda run, file=file, forged=forged: write_arrays(run / file, forged)
    rows = len(read_arrays(run / "label_distributions.safetensors")["label_distributions"])
    for count, top in ((10**12, 0), (-5, 0), (10, 99), (10, -7)):
        forged = {"top_classes": np.full((rows, 2), top, np.int32), "num_classes": np.array([count]),
                  "top_probabilities": np.full((rows, 2), 0.5, np.float32)}  # fmt: skip
        yield (
            f"distributions over {count} classes, all {top}",
            lambda run, forged=forged: write_arrays(run / "label_distributions.safetensors", forged),
        )
    head = json.dumps({"label_distributions": {"dtype": "F32", "shape": [10**9, 10], "data_offsets": [0, 4 * 10**10]}})
    lie = len(head).to_bytes(8, "little") + head.encode() + bytes(100)
    yield "safetensors that claim 40 GB", lambda run: (run / "label_distributions.safetensors").write_bytes(lie)
    yield (
        "safetensors with an endless header",
        lambda run: (run / "model.safetensors").write_bytes(b"\xff" * 7 + b"\x7f{"),
    )


def tables(chance: random.Random) -> Iterator[Forgery]:
    """labels.parquet with columns of other kinds."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = ("index", "id", "given", "given_name", "corrected", "corrected_name", "confidence", "entropy", "quality",
               "network", "changed_at", "num_changes", "decision", "split", "clean")  # fmt: skip
    kinds: dict[str, Callable[[int], Any]] = {
        "missing": lambda rows: None,
        "null": lambda rows: pa.nulls(rows),
        "texts": lambda rows: pa.array(["../../etc/passwd"] * rows),
        "numbers": lambda rows: pa.array([2**62] * rows),
        "below zero": lambda rows: pa.array([-7] * rows),
        "not finite": lambda rows: pa.array([float("nan")] * rows),
        "lists": lambda rows: pa.array([[1, 2]] * rows),
        "bytes": lambda rows: pa.array([b"\xff\xfe"] * rows),
    }
    for column in columns:
        for kind in chance.sample(list(kinds), 3):

            def forge(run: Path, column: str = column, kind: str = kind) -> None:
                table = parquet.read_table(run / "labels.parquet")
                if column not in table.column_names:
                    return
                place, values = table.column_names.index(column), kinds[kind](table.num_rows)
                table = table.remove_column(place) if values is None else table.set_column(place, column, values)
                parquet.write_table(table, run / "labels.parquet")

            yield f"labels.parquet: {column} {kind}", forge
