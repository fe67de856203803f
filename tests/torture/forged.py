"""A stranger's run folder, its files forged but with checksums that fit: a result or one clear line, and no harm."""

import hashlib
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import process
from .runs import Kind, digits, stopped, unbroken

KIND = Kind("pencil", "mapped", "2,3,2")
Forgery = tuple[str, Callable[[Path], object]]
SECONDS = 60.0
"""A command that takes longer hangs."""
VALUES = (None, -1, 3, 1e308, "x", [], [[]], {}, {"a": []}, "../../etc/passwd", "\0", 10**30, [None] * 3)
"""What nobody expects in a JSON file."""


def run(seed: int, place: Path) -> Counter[str]:
    """Forge every file of a stopped and of a finished run, and use them."""
    chance, data = random.Random(seed), digits(place / "digits.npz", count=120)
    whole, half = unbroken(KIND, data, place), stopped(KIND, data, place, epochs=4)
    precious = _precious(place)
    begun = [*_checkpoints(half, chance), *_settings(chance), *_links(precious), *_journals()]
    ended = [*_arrays(whole, chance), *_tables(chance), *_documents(chance), *_settings(chance), *_links(precious)]
    tried = [(half, name, forge, [_resume]) for name, forge in begun]
    tried += [(whole, name, forge, chance.sample(COMMANDS, 3 if "link" in name else 1)) for name, forge in ended]
    counts, failed = Counter[str](), list[str]()
    for run, name, forge, commands in tried:
        try:
            counts[_use(run, name, forge, commands, place)] += 1
            assert _unharmed(precious), f"{name} reached a file outside of the run folder"
        except AssertionError as error:
            failed.append(str(error))
    assert not failed, f"{len(failed)} of {len(tried)} forgeries got through:\n" + "\n".join(failed[:40])
    return counts


def _use(run: Path, name: str, forge: Callable[[Path], object], commands: list[Any], place: Path) -> str:
    copy = place / "forged"
    outcome = "read"
    for command in commands:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(run, copy)
        (copy / "checksums.json").unlink(missing_ok=True)
        forge(copy)
        arguments = command(copy, place)
        child = process.finish(*arguments, log=place / "forged.log", seconds=SECONDS, first=process.bound_memory)
        assert child.status in (0, 1, 2), f"{name}: {arguments[0]}: code {child.status}: {child.text()[-1500:]}"
        if child.status:
            child.line()
            outcome = "refused"
    return outcome


def _resume(run: Path, place: Path) -> tuple[object, ...]:
    return "train", "--resume", "--out", run


def _child(run: Path, place: Path) -> tuple[object, ...]:
    shutil.rmtree(place / "child", ignore_errors=True)
    return "train", "--from", run, "--out", place / "child", "--epochs", "0,1,0"


def _predict(run: Path, place: Path) -> tuple[object, ...]:
    return "predict", run, place / "digits.npz"


def _labels(run: Path, place: Path) -> tuple[object, ...]:
    return "labels", run, "--apply", "--out", place / "labels.csv"


def _report(run: Path, place: Path) -> tuple[object, ...]:
    return "report", run


def _export(run: Path, place: Path) -> tuple[object, ...]:
    (place / "exported").unlink(missing_ok=True)
    return "export", run, "--to", "csv", "--out", place / "exported"


def _runs(run: Path, place: Path) -> tuple[object, ...]:
    return "runs", run


COMMANDS = [_resume, _child, _predict, _labels, _report, _export, _runs]


def _checkpoints(run: Path, chance: random.Random) -> Iterator[Forgery]:
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


def _arrays(run: Path, chance: random.Random) -> Iterator[Forgery]:
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


def _tables(chance: random.Random) -> Iterator[Forgery]:
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


def _documents(chance: random.Random) -> Iterator[Forgery]:
    """JSON files with other values, deeper and longer than any of ours."""
    files = ("classes.json", "preprocessing.json", "split.json", "result.json", "status.json", "checksums.json",
             "history.jsonl")  # fmt: skip
    for file in files:
        for value in chance.sample(VALUES, 3):
            yield (
                f"{file} is {value!r}",
                lambda run, file=file, value=value: (run / file).write_text(json.dumps(value) + "\n"),
            )
            yield f"{file} holds {value!r}", lambda run, file=file, value=value: _put(run / file, value, chance)
        yield f"{file} is endless brackets", lambda run, file=file: (run / file).write_text("[" * 200_000)
        yield f"{file} is huge", lambda run, file=file: os.truncate(_touched(run / file), 10 * 2**30)
    for name in ("../digits.npz", "/etc/passwd", "a/../../b", "", ".", "\0"):
        yield (
            f"checksums.json names {name!r}",
            lambda run, name=name: (run / "checksums.json").write_text(json.dumps({name: "0" * 64})),
        )


def _touched(file: Path) -> Path:
    file.touch()
    return file


def _put(file: Path, value: Any, chance: random.Random) -> None:
    """Change one value of a JSON file."""
    content = json.loads(
        file.read_text().splitlines()[0] if file.suffix == ".jsonl" else file.read_text() if file.exists() else "{}"
    )
    if isinstance(content, list):
        content[chance.randrange(len(content))] = value
    elif content:
        content[chance.choice(sorted(content))] = value
    file.write_text(json.dumps(content) + "\n")


def _settings(chance: random.Random) -> Iterator[Forgery]:
    """config.toml with settings that nobody would give."""
    lines = ("data = 3", "method = 3", "phases = []", "[hardware]\nthreads = 1000000000",
             "[hardware]\nworkers = 1000000", "[optimizer]\nbatch_size = 1000000000000",
             "[backbone_options]\nhidden = 1000000000000",
             '[backbone_options]\nweights = "/etc/passwd"', "a = " + "[" * 100_000, "x" * 5_000_000,
             '[data]\nsource = "/dev/zero"', '[data]\nsource = "/proc/self/mem"', '[data]\nlabels = "/dev/zero"',
             'source = "digits"\n[data]\nsource = "evil.py:read"', "seed = 99999999999999999999999",
             '[data]\nsource = "hf:../../etc"', '[data]\nroot = "\\u0000"', '[hardware]\ntable = "top"')  # fmt: skip
    for line in lines:

        def forge(run: Path, line: str = line) -> None:
            path = run / "config.toml"
            head = line.split(" = ")[0]
            kept = [old for old in path.read_text().splitlines() if "[" in line or not old.startswith(f"{head} =")]
            if line.startswith("["):
                title, setting = line.split("\n")
                name = setting.split(" = ")[0]
                kept = [old for old in kept if not old.startswith(f"{name} =")]
                at = kept.index(title) + 1 if title in kept else len(kept)
                kept[at:at] = [setting] if title in kept else [title, setting]
                path.write_text("\n".join(kept) + "\n")
            else:
                path.write_text(line + "\n" + "\n".join(kept) + "\n")

        yield f"config.toml: {line[:60]!r}", forge


def _precious(place: Path) -> dict[Path, bytes]:
    """Files of the user that a link could point at."""
    folder = place / "precious"
    folder.mkdir()
    for name in ("letter.txt", "weights.safetensors", ".hidden.tmp", "journal.bin", "label_logits.bin"):
        (folder / name).write_bytes(b"dear diary " * 3)
    return {file: file.read_bytes() for file in folder.iterdir()}


def _unharmed(precious: dict[Path, bytes]) -> bool:
    folder = next(iter(precious)).parent
    return {file: file.read_bytes() for file in folder.iterdir()} == precious


def _links(precious: dict[Path, bytes]) -> Iterator[Forgery]:
    """Links out of the folder, and what is no file at all."""
    letter = next(file for file in precious if file.name == "letter.txt")
    for name in ("lock", "log.txt", "history.jsonl", "report.html", "decisions.sqlite", "status.json",
                 "model.safetensors", "config.toml", "table/label_logits.bin", "table/journal.bin", "table/journal.new",
                 "checkpoint/unfinished.safetensors"):  # fmt: skip
        yield f"a link {name} out", lambda run, name=name: _replace(run / name).symlink_to(letter)
    for name in ("checkpoint", "table", "pictures"):
        yield f"a link {name}/ out", lambda run, name=name: _replace(run / name).symlink_to(letter.parent)
    yield "a link to a device", lambda run: _replace(run / "classes.json").symlink_to("/dev/zero")
    for name in ("status.json", "classes.json", "lock", "log.txt", "history.jsonl", "checkpoint/0.safetensors"):
        yield f"a pipe instead of a link, {name}", lambda run, name=name: os.mkfifo(_replace(run / name))


def _replace(file: Path) -> Path:
    file.parent.mkdir(exist_ok=True)
    if file.is_dir():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)
    return file


def _journals() -> Iterator[Forgery]:
    """Journals of old rows that are nobody's."""
    import struct
    import zlib

    def forge(run: Path, index: list[int], touched: list[int], rows: int) -> None:
        generation = (run / "table" / "journal.bin").read_bytes()[8:16]
        body = np.array(index, "<i8").tobytes() + bytes(touched) + np.zeros((rows, 10), np.float32).tobytes()
        head = struct.pack("<QQI", len(index), rows, zlib.crc32(body))
        (run / "table" / "journal.bin").write_bytes(b"pencilj1" + generation + head + body)

    for index, touched, rows in (
        ([10**12], [1], 1),
        ([-1], [1], 1),
        ([2**62], [1], 1),
        ([0, 1], [1, 1], 1),
        ([0], [0], 5),
    ):
        yield f"a journal of rows {index}", lambda run, i=index, t=touched, r=rows: forge(run, i, t, r)
