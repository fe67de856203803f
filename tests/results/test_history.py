"""One line an epoch."""

import os
from pathlib import Path

import pytest

from pencil.errors import PencilError
from pencil.results.history import History


def test_records_come_back_in_order(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    assert history.read() == []
    history.append({"epoch": 0, "loss": 1.5, "phase": "backbone"})
    history.append({"epoch": 1, "loss": float("nan"), "phase": "backbone"})
    assert history.read() == [
        {"epoch": 0, "loss": 1.5, "phase": "backbone"},
        {"epoch": 1, "loss": None, "phase": "backbone"},
    ]
    assert history.path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("torn", [b'{"epo', b'{"epoch": 3}', b"\0\0\0\0\n", b'{"epoch": \n'])
def test_a_torn_last_line_is_no_epoch(tmp_path: Path, torn: bytes) -> None:
    history = History(tmp_path / "history.jsonl")
    for epoch in range(3):
        history.append({"epoch": epoch})
    with history.path.open("ab") as file:
        file.write(torn)
    assert [record["epoch"] for record in history.read()] == [0, 1, 2]
    history.restore(history.content())
    history.append({"epoch": 3})
    assert [record["epoch"] for record in history.read()] == [0, 1, 2, 3]


def test_append_repairs_a_torn_line_by_itself(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    history.path.write_bytes(b'{"epoch": 0}\n{"epo')
    history.append({"epoch": 1})
    assert history.path.read_bytes() == b'{"epoch": 0}\n{"epoch": 1}\n'


def test_resume_drops_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    for epoch in range(2):
        history.append({"epoch": epoch})
    kept = history.content()
    history.append({"epoch": 2})
    history.restore(kept)
    assert history.read() == [{"epoch": 0}, {"epoch": 1}]
    history.path.unlink()
    history.restore(kept)
    assert history.read() == [{"epoch": 0}, {"epoch": 1}]


def test_damage_in_the_middle_is_named(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    history.path.write_bytes(b'{"epoch": 0}\nnonsense\n{"epoch": 2}\n')
    with pytest.raises(PencilError, match=r"history.jsonl is damaged .line 2 is no JSON object"):
        history.read()


def test_a_failed_append_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(tmp_path / "history.jsonl")
    history.append({"epoch": 0})

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(PencilError, match=r"the disk is full.*history.jsonl"):
            history.append({"epoch": 1})
    assert history.path.read_bytes() == b'{"epoch": 0}\n'
