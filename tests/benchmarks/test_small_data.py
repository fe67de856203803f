"""The benchmark on small data, on one short cell; and the page that shows its records."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("small_data")


def test_a_cell_is_measured_with_both_methods(benchmark: ModuleType) -> None:
    record = benchmark.measure("iris:0.3", seeds=(0,), epochs=(2, 2, 1))
    ours, plain = record["runs"]
    assert (ours["method"], plain["method"]) == ("pencil", "cross_entropy")
    assert ours["label_accuracy"]["given"] == plain["label_accuracy"]["given"] < 90
    assert plain["right_kept"] == 100
    assert "| iris | 108 | 30% | cross entropy |" in benchmark.page([record])


def test_the_page_shows_the_records(benchmark: ModuleType) -> None:
    assert benchmark.page(benchmark.read_records()) == benchmark.PAGE.read_text(encoding="utf-8")
