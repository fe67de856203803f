"""Forged documents, settings and journals of a run, and links in its folder that lead out of it."""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Forgery = tuple[str, Callable[[Path], object]]
VALUES = (None, -1, 3, 1e308, "x", [], [[]], {}, {"a": []}, "../../etc/passwd", "\0", 10**30, [None] * 3)
"""What nobody expects in a JSON file."""


def documents(chance: random.Random) -> Iterator[Forgery]:
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


def settings(chance: random.Random) -> Iterator[Forgery]:
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


def precious_files(place: Path) -> dict[Path, bytes]:
    """Files of the user that a link could point at."""
    folder = place / "precious"
    folder.mkdir()
    for name in ("letter.txt", "weights.safetensors", ".hidden.tmp", "journal.bin", "label_logits.bin"):
        (folder / name).write_bytes(b"dear diary " * 3)
    return {file: file.read_bytes() for file in folder.iterdir()}


def unharmed(precious: dict[Path, bytes]) -> bool:
    folder = next(iter(precious)).parent
    return {file: file.read_bytes() for file in folder.iterdir()} == precious


def links(precious: dict[Path, bytes]) -> Iterator[Forgery]:
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


def journals() -> Iterator[Forgery]:
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
