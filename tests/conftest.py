"""What tests of several rooms share."""

import os
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import settings

# Triton decides at its first import whether kernels are interpreted, so before any test imports it.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
# A busy machine makes any single example slow.
settings.register_profile("pencil", deadline=None)
settings.load_profile("pencil")

SOURCE_TREE = Path(__file__).parents[1] / "src"


@pytest.fixture
def place(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder; decoded images are kept elsewhere."""
    monkeypatch.setenv("PENCIL_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SOURCE_TREE), *sys.path]))
    monkeypatch.chdir(tmp_path)
    return tmp_path
