"""What is made again is never lost before there is a new one."""

from pathlib import Path

import pytest

from pencil.errors import PencilError
from pencil.reproduce.again import made_again
from pencil.results.folder import RunFolder, State
from pencil.results.lock import exclusive


def _run(path: Path, state: State, mark: str) -> Path:
    RunFolder.create(path).set_state(state)
    (path / "mark").write_text(mark)
    return path


def test_a_finished_run_goes_when_the_new_one_is_finished(tmp_path: Path) -> None:
    folder = _run(tmp_path / "run", "finished", "old")
    with made_again([folder]):
        assert not folder.exists()
        _run(folder, "finished", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (folder / "mark").read_text() == "new"


def test_it_comes_back_where_no_new_one_began(tmp_path: Path) -> None:
    folder = _run(tmp_path / "run", "finished", "old")
    with pytest.raises(KeyboardInterrupt), made_again([folder]):
        raise KeyboardInterrupt
    assert (folder / "mark").read_text() == "old"


def test_it_waits_for_a_new_one_that_was_stopped(tmp_path: Path) -> None:
    folder = _run(tmp_path / "run", "finished", "old")
    with made_again([folder]):
        _run(folder, "stopped", "new")
    assert len(list(tmp_path.iterdir())) == 2
    with made_again([folder]):
        assert (folder / "mark").read_text() == "new", "a stopped run goes on"
        RunFolder(folder).set_state("finished")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_in_use_is_left_alone(tmp_path: Path) -> None:
    folder = _run(tmp_path / "run", "finished", "old")
    with (
        exclusive(folder / "lock"),
        pytest.raises(PencilError, match="in use by process"),
        made_again([folder]),
    ):
        raise AssertionError
    assert (folder / "mark").read_text() == "old"
