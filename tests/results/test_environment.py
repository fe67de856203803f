"""What a result was made with."""

import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from pencil.results.environment import checkout_commit, environment


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_versions_are_those_installed() -> None:
    facts = environment({"device": "cpu", "torch": "9.9+x"})
    assert facts["python"] == platform.python_version()
    assert facts["numpy"] == version("numpy")
    assert facts["device"] == "cpu" and facts["torch"] == "9.9+x", "what the caller knows better wins"
    assert facts["pencil"] and facts["platform"]


def test_no_torch_is_imported_by_any_part_of_results() -> None:
    script = (
        "import pkgutil, importlib, sys, pencil.results as r\n"
        "for m in pkgutil.iter_modules(r.__path__): importlib.import_module(f'pencil.results.{m.name}')\n"
        "from pencil.results.environment import environment; environment()\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_commit_is_that_of_the_checkout_that_tracks_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "package" / "a.py"
    file.parent.mkdir()
    file.write_text("")
    assert checkout_commit(file) is None
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "empty")
    assert checkout_commit(file) is None, "a package installed inside someone's repository is not part of it"
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "file")
    assert checkout_commit(file) == git(tmp_path, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", "")
    assert checkout_commit(file) is None


def test_a_copy_without_its_repository_can_be_told_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENCIL_COMMIT", "a" * 40)
    assert environment()["commit"] == "a" * 40
