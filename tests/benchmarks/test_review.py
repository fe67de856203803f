"""The benchmark of the review page, whole, on few suspects; and the table that shows its record."""

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "review.md"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("review")


def test_it_measures_and_writes_a_record(benchmark: ModuleType, tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    benchmark.main(["--count", "600", "--folder", str(tmp_path), "--record", str(tmp_path / "record.json")])
    record = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert record["suspects"] == 600 and record["decision"]["p95_ms"] >= record["decision"]["median_ms"] > 0
    assert {"torch", "python", "platform", "cpus"} <= set(record["environment"])
    assert str(tmp_path) not in json.dumps(record) and [path.name for path in tmp_path.iterdir()] == ["record.json"]
    assert PAGE.read_text(encoding="utf-8") == page, "the page shows the committed record alone"


def test_the_page_shows_the_record_which_holds_what_was_promised(benchmark: ModuleType) -> None:
    record = json.loads(benchmark.RECORD.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    assert benchmark.PART.put(page, benchmark.table(record)) == page
    assert record["suspects"] == 100_000 and record["first_page"] < 1000 and record["decision"]["p95_ms"] < 50
