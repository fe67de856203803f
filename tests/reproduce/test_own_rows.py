"""Rows of users' own methods: one for each file, with a short name where it is free."""

from pathlib import Path
from typing import Any

import pytest

from pencil import plugins
from pencil.reproduce.choice import choose
from pencil.reproduce.own_rows import own_rows
from pencil.reproduce.studies import STUDIES
from pencil.reproduce.trial import Wanted

TEXT = "from pencil.methods.cross_entropy import CrossEntropy\nclass METHOD(CrossEntropy):\n    '{}'\npencil = METHOD\n"
TABLE = STUDIES["table3"]


@pytest.fixture
def files(place: Path) -> tuple[str, str, str]:
    """Three methods of one name, two of them in files of one name."""
    for name in ("elr.py", "two/slow.py", "three/slow.py"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(TEXT.format(name))
    return "elr.py:METHOD", "two/slow.py:METHOD", "three/slow.py:METHOD"


def _record(name: str, system: str) -> dict[str, Any]:
    own = Path(name).name
    return {"system": system, "method": own, "environment": {"own_code": {own: plugins.digests([name])[name]}}}


def test_the_short_name_stays_where_it_is_free(files: tuple[str, ...]) -> None:
    for name in files:
        assert own_rows(["lq", name], TABLE, []) == {name: "METHOD"}


def test_files_of_one_command_stay_apart(files: tuple[str, ...]) -> None:
    assert list(own_rows(files, TABLE, []).values()) == ["METHOD", "slow.METHOD", "three.slow.METHOD"]
    assert set(own_rows(["elr.py:METHOD", "./elr.py:METHOD"], TABLE, []).values()) == {"METHOD"}


def test_the_tables_own_rows_are_taken(files: tuple[str, ...]) -> None:
    assert own_rows(["elr.py:pencil"], TABLE, []) == {"elr.py:pencil": "elr.pencil"}


def test_records_keep_their_rows(files: tuple[str, ...], place: Path) -> None:
    elr, slow, other = files
    assert own_rows([slow], TABLE, [_record(elr, "METHOD")]) == {slow: "slow.METHOD"}
    kept = [_record(elr, "METHOD"), _record(slow, "slow.METHOD")]
    assert own_rows([slow, elr], TABLE, kept) == {slow: "slow.METHOD", elr: "METHOD"}
    assert own_rows([other, slow], TABLE, kept) == {slow: "slow.METHOD", other: "three.slow.METHOD"}
    (place / "elr.py").write_text(TEXT.format("edited"))
    assert own_rows([elr], TABLE, kept) == {elr: "METHOD"}, "its own record is refused later, in words"


def test_both_are_run_however_they_are_named(files: tuple[str, ...]) -> None:
    wanted = Wanted(dataset="digits")
    asked = {"cells": ["symmetric-50"], "trials": 1, "wanted": wanted}
    both = choose(["table3"], systems=files[:2], **asked)  # type: ignore[arg-type]
    assert [(trial.system.name, trial.system.method) for trial in both] == [
        ("METHOD", files[0]),
        ("slow.METHOD", files[1]),
    ]
    Path("two/slow.py").rename("slow.py")
    named = choose(["table3/elr.py:METHOD", "table3/slow.py:METHOD"], **asked)  # type: ignore[arg-type]
    assert [trial.system.name for trial in named] == ["METHOD", "slow.METHOD"]
