"""Makes the generators of `fakes.py` and a private cache available to every test of the data package."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pencil.config.settings import DataSettings
from pencil.data import Dataset, load


@pytest.fixture(scope="session")
def fakes() -> ModuleType:
    """The generators of small data in every layout that is read."""
    spec = importlib.util.spec_from_file_location("data_fakes", Path(__file__).parent / "fakes.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def load_data(tmp_path: Path) -> Callable[..., Dataset]:
    """`load` with a cache inside the test's folder; keywords are settings of the data."""

    def run(source: Path | str, *, seed: int = 0, download: bool = False, **settings: Any) -> Dataset:
        chosen = DataSettings(source=str(source), **settings)
        return load(chosen, seed=seed, download=download, cache_dir=tmp_path / "cache")

    return run
