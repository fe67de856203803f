"""`pencil demo` trains both methods and shows them side by side."""

from pathlib import Path
from typing import Any

import pytest

from pencil import recipes

from .conftest import Command


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every phase of the default recipe one epoch."""
    auto = recipes.RECIPES["auto"]

    def recipe(method: str, facts: recipes.Facts) -> dict[str, Any]:
        settings = auto(method, facts)
        phases = {name: {**phase, "epochs": 1} for name, phase in settings["phases"].items()}
        return settings | {"phases": phases, "hardware": {"threads": 1}}

    monkeypatch.setitem(recipes.RECIPES, "auto", recipe)


def test_it_ends_with_a_table_and_the_folder(pencil: Command) -> None:
    ended = pencil("demo")
    assert ended.code == 0, ended.err
    table = {line.split("  ")[0]: line for line in ended.out.splitlines()}
    for method in ("cross entropy", "PENCIL"):
        assert table[method].count("%") == 4
        assert f"{method}: phase" in ended.err
    assert "demo-run" in ended.out
    assert {path.name for path in Path("demo-run").iterdir()} >= {"cross_entropy", "pencil"}


def test_a_second_one_takes_a_new_folder_and_several_seeds(pencil: Command) -> None:
    Path("demo-run").mkdir()
    ended = pencil("demo", "--seed", "3", "--seeds", "2")
    assert ended.code == 0, ended.err
    names = {path.name for path in Path("demo-run-2").iterdir() if path.is_dir()}
    assert names == {f"{method}-seed-{seed}" for method in ("cross_entropy", "pencil") for seed in (3, 4)}
    assert list(Path("demo-run").iterdir()) == []
