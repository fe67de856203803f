"""Damage to a file of a run is noticed when the run is opened."""

import json
from pathlib import Path

import pytest

from pencil.errors import PencilError
from pencil.results.folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder.create(tmp_path / "run")
    made.config.write_text("seed = 0\n")
    made.classes.write_text('["a", "b"]\n')
    made.seal(made.config)
    made.seal(made.classes)
    return made


def test_a_whole_run_opens(folder: RunFolder) -> None:
    assert set(json.loads((folder.path / "checksums.json").read_text())) == {"config.toml", "classes.json"}
    assert RunFolder.open(folder.path) == folder


@pytest.mark.parametrize("content", [b"seed = 1\n", b"seed = 0", b""])
def test_a_changed_file_is_named(folder: RunFolder, content: bytes) -> None:
    folder.config.write_bytes(content)
    with pytest.raises(PencilError, match=r"config.toml is damaged .*restore it from a copy"):
        RunFolder.open(folder.path)


def test_a_removed_file_is_named(folder: RunFolder) -> None:
    folder.classes.unlink()
    with pytest.raises(PencilError, match=r"classes.json does not exist"):
        RunFolder.open(folder.path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"config.toml": 3}', '{"../elsewhere": "0"}'])
def test_damaged_checksums_are_an_error(folder: RunFolder, text: str) -> None:
    (folder.path / "checksums.json").write_text(text)
    with pytest.raises(PencilError, match=r"is damaged"):
        RunFolder.open(folder.path)


def test_a_file_sealed_anew_is_whole_again(folder: RunFolder) -> None:
    folder.config.write_text("seed = 1\n")
    folder.seal(folder.config)
    RunFolder.open(folder.path)
