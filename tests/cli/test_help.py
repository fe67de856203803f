"""Help comes at once and leads on; a mistyped word gets the right one."""

import subprocess
import sys
from pathlib import Path

import pytest

from pencil import __version__

from .conftest import Command


def test_help_shows_commands_and_examples(pencil: Command) -> None:
    ended = pencil("--help")
    assert ended.code == 0
    for word in ("pencil demo", "pencil train photos/ --out run", "pencil predict run", "Start here", "labels"):
        assert word in ended.out


def test_no_arguments_show_help(pencil: Command) -> None:
    assert "pencil demo" in pencil().out


def test_help_needs_no_torch(place: Path) -> None:
    code = "import sys; from pencil.cli import run; run(['--help']); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_the_module_is_the_command(place: Path) -> None:
    ended = subprocess.run([sys.executable, "-m", "pencil", "--version"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, f"pencil {__version__}\n")


@pytest.mark.parametrize("kind", ["methods", "backbones", "sources", "noises", "recipes"])
def test_list_names_plug_ins(pencil: Command, kind: str) -> None:
    known = {
        "methods": "cross_entropy", "backbones": "preact_resnet32", "sources": "image_folder",
        "noises": "symmetric", "recipes": "paper/cifar10-symmetric-70",
    }  # fmt: skip
    assert known[kind] in pencil("list", kind).out
    assert known[kind] in pencil("list").out


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["trian", "digits"], "train"),
        (["train", "digits", "--epoch", "1"], "--epochs"),
        (["list", "metods"], "methods"),
    ],
)
def test_a_mistyped_word_gets_the_right_one(pencil: Command, typed: list[str], meant: str) -> None:
    ended = pencil(*typed)
    assert ended.code == 2
    assert ended.line.startswith("pencil: ") and meant in ended.line


def test_methods_that_are_told_more_than_pencil_are_starred(pencil: Command) -> None:
    lines = pencil("list", "methods").out.splitlines()
    starred = {line.split()[0] for line in lines if line.split()[1] == "*"}
    assert starred == {"forward", "backward", "cnn_crf"}
    assert any("forward is told the true transition matrix" in line for line in lines)
