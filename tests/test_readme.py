"""README and pages say what the records say, and name only what exists."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from pencil.cli import run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    """The benchmark that writes the README's table."""
    return _benchmark("demo")


def _benchmark(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        spec.loader.exec_module(module)
    return module


def test_the_table_is_what_the_records_generate(demo: ModuleType) -> None:
    assert demo.PART.put(README, demo.table(demo.read_records())) == README


def test_the_defaults_table_is_what_its_records_generate() -> None:
    default = _benchmark("default")
    assert default.PART.put(README, default.table(ROOT / "reference")) == README


def test_the_demo_reaches_what_it_promises(demo: ModuleType) -> None:
    """94% correct labels and test accuracy, three seeds, at most 90 seconds for both methods."""
    records = [record for record in demo.read_records() if record["method"] == "pencil"]
    assert len({record["seed"] for record in records}) == 3
    assert sum(record["label_accuracy"]["corrected"] for record in records) / 3 >= 94
    assert sum(record["test_accuracy"]["last"] for record in records) / 3 >= 94
    assert sum(record["seconds"] for record in demo.read_records()) / 3 <= 90


def test_links_and_pictures_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_every_command_shown_exists(capsys: pytest.CaptureFixture[str]) -> None:
    named = set(
        re.findall(r"pencil (demo|train|predict|audit|review|labels|list|report|reproduce|runs|sweep|bench)\b", README)
    )
    assert {"train", "predict", "review"} <= named
    for command in named:
        assert run([command, "--help"]) == 0
        assert "Usage: pencil" in capsys.readouterr().out


def test_the_page_on_label_errors_is_what_its_records_generate() -> None:
    writer = _benchmark("label_errors_page")
    page = writer.page(writer.records())
    assert (ROOT / "docs" / "label_errors.md").read_text(encoding="utf-8") == page
    assert page.count("| cleanlab |") >= 1
