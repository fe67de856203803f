"""A place like a reader's: some photos, a table, and a finished run."""

import contextlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pencil.cli import run

CLASSES = ("cat", "dog", "hen")


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the pages speak of: photos/, new-photos/, tables, and a run in runs/photos-1."""
    place = tmp_path_factory.mktemp("reader")
    for name, count, seed in (("photos", 20, 0), ("new-photos", 5, 1)):
        _write_photos(place / name, count, np.random.default_rng(seed))
    _write_tables(place)
    quick = ("--epochs", "2,2,2", "--backbone", "mlp", "--set", "hardware.threads=1", "--quiet")
    with contextlib.chdir(place):
        assert run(["train", "photos", "--out", "runs/photos-1", "--noise", "symmetric:0.3", *quick]) == 0
    return place


@pytest.fixture
def place(reader: Path, undrawn: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of those files to work in."""
    shutil.copytree(reader, tmp_path / "place")
    monkeypatch.chdir(tmp_path / "place")
    monkeypatch.setenv("PENCIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("pencil.run.training.estimate.SAMPLE_SECONDS", 0.2)
    return tmp_path / "place"


def _write_photos(folder: Path, count: int, rng: np.random.Generator) -> None:
    for number, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        for place in range(count):
            pixels = rng.integers(0, 90, (16, 16, 3), dtype=np.uint8)
            pixels[..., number] += 120
            Image.fromarray(pixels).save(folder / name / f"{place}.png")


def _write_tables(place: Path) -> None:
    rng = np.random.default_rng(0)
    kinds = [("small", "red"), ("large", "blue")]
    lines = []
    for row in range(80):
        kind, colour = kinds[row % 2]
        size = rng.normal(loc=row % 2)
        lines.append(f"r{row},{size:.3f},{colour},{kind},{kind},{kind},{kinds[(row // 9) % 2][0]}")
    (place / "table.csv").write_text("\n".join(["id,size,colour,label,kind,ann,bob", *lines]) + "\n")
    head, few = "id,size,colour,kind,ann,bob,label", [f"n{n},{n % 3},red,small,small,large,small" for n in range(6)]
    (place / "batch.csv").write_text("\n".join([head, *few]) + "\n")
    (place / "new.csv").write_text("id,colour,size,kind,ann,bob\nx1,blue,0.5,small,large,large\n")
    labels = [f"{name}/{number}.png,{name}" for name in CLASSES for number in range(20)]
    (place / "labels.csv").write_text("\n".join(["id,label", *labels]) + "\n")
