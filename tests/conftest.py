"""What tests of several rooms share."""

import os
import sys
from pathlib import Path

import pytest

SOURCE_TREE = Path(__file__).parents[1] / "src"


@pytest.fixture
def place(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder; decoded images are kept elsewhere."""
    monkeypatch.setenv("PENCIL_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SOURCE_TREE), *sys.path]))
    monkeypatch.chdir(tmp_path)
    return tmp_path
