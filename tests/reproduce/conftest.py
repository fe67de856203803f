"""Records without runs, and a place to run commands in."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pencil.cli import run

TESTS = Path(__file__).parents[1]

Command = Callable[..., tuple[int, str, str]]


def _record(**changed: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "study": "table3", "cell": "symmetric-70", "system": "pencil", "title": "PENCIL", "method": "pencil",
        "dataset": "cifar10", "noise": "symmetric:0.7", "recipe": "paper/cifar10-symmetric-70", "seed": 0,
        "backbone": "preact_resnet32", "epochs": 6, "phases": {"backbone": 1, "labels": 3, "tuning": 2},
        "num_examples": 45_000, "test_accuracy": {"best": 87.0, "last": 87.5}, "seconds": 120.0,
        "label_accuracy": {"given": 37.0, "corrected": 87.0}, "images_per_second": 40_000.0,
        "environment": {"device": "H200", "precision": "bf16-mixed", "pencil": "1", "commit": "abc", "torch": "2"},
        "command": "pencil train",
    }  # fmt: skip
    return fields | changed


@pytest.fixture
def record() -> Callable[..., dict[str, Any]]:
    """Makes one record of Table 3 as `pencil reproduce` writes it, with some fields changed."""
    return _record


@pytest.fixture(scope="session")
def fakes() -> ModuleType:
    """The generators of small data in every layout that is read."""
    spec = importlib.util.spec_from_file_location("data_fakes", TESTS / "data" / "fakes.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def pencil(place: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process; return its exit code, stdout and stderr."""

    def command(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command
