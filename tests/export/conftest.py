"""Small finished runs to export: of image files, of arrays, of a table."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import pencil
from pencil.results.decisions import Decisions
from pencil.results.read import read_run

QUICK = {"backbone": "mlp", "hardware": {"device": "cpu", "threads": 1}}
CLASSES = ("cat", "dog", "été")


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve images of each class; every class has a file of the same name."""
    folder = tmp_path_factory.mktemp("data") / "photos"
    rng = np.random.default_rng(0)
    for number, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        for image in range(12):
            pixels = rng.integers(80 * number, 80 * number + 60, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{image}.png")
    return folder


@pytest.fixture(scope="session")
def _photo_run(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    pencil.fit(photos, out=place / "run", settings=QUICK, epochs=(1, 1, 1), cache_dir=place / "cache")
    return place / "run"


@pytest.fixture
def photo_run(_photo_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on image files, of which a person moved the first to the class "été" and kept the second."""
    import shutil

    monkeypatch.setenv("PENCIL_CACHE", str(_photo_run.parent / "cache"))
    run = tmp_path / "photo-run"
    shutil.copytree(_photo_run, run)
    rows = read_run(run).labels.to_pylist()
    with Decisions(run / "decisions.sqlite") as store:
        store.decide(rows[0]["id"], 2, reviewer="me", key="1")
        store.decide(rows[1]["id"], rows[1]["given"], reviewer="me", key="2")
    return run


@pytest.fixture(scope="session")
def table_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a table with one example that has no label."""
    place = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    lines = [f"{i},{rng.normal() + 3 * (i % 2):.3f},{'' if i == 5 else 'ab'[i % 2]}" for i in range(40)]
    (place / "table.csv").write_text("\n".join(["id,size,label", *lines]) + "\n")
    pencil.fit(place / "table.csv", out=place / "run", settings=QUICK, epochs=(1, 1, 1))
    return place / "run"


@pytest.fixture(scope="session")
def array_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on images in an .npz file."""
    place = tmp_path_factory.mktemp("arrays")
    rng = np.random.default_rng(0)
    y = np.arange(36) % 3
    x = rng.integers(0, 60, (36, 8, 8, 3)).astype(np.uint8) + (80 * y[:, None, None, None]).astype(np.uint8)
    np.savez(place / "images.npz", x=x, y=y)
    pencil.fit(place / "images.npz", out=place / "run", settings=QUICK, epochs=(1, 1, 1))
    return place / "run"
