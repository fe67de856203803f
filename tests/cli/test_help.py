"""Help comes at once and leads on; a mistyped word gets the right one."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from pencil import __version__
from pencil.cli import app, listing
from pencil.cli.help import AS_IT_STANDS

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


@pytest.mark.parametrize("line", ['extra_information = "the truth"', 'extra_information: ClassVar[str] = "the truth"'])
def test_a_method_that_is_told_more_has_a_star_however_it_says_so(
    line: str, pencil: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(f'"""Mine."""\n\nclass Mine(Method):\n    {line}\n')
    monkeypatch.setitem(listing.FOLDERS, listing.Kind.methods, str(tmp_path))
    out = pencil("list", "methods").out
    assert "  mine *  Mine." in out and "* mine is told the truth" in out


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


COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The help of every command on a terminal so wide that no line breaks, as one text each."""
    code = "import sys; from pencil.cli import run; [(print('\\f'), run([name, '--help'])) for name in sys.argv[1:]]"
    wide = {**os.environ, "TERMINAL_WIDTH": "400", "COLUMNS": "400"}
    shown = subprocess.run(
        [sys.executable, "-c", code, *COMMANDS], env=wide, capture_output=True, text=True, check=True
    ).stdout
    plain = [" ".join(re.sub(r"[│╭╮╰╯─]", " ", page).split()) for page in shown.split("\f")[1:]]
    return dict(zip(COMMANDS, plain, strict=True))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_a_manual_page(pages: dict[str, str], name: str) -> None:
    """Every argument and option is explained, nothing is lost on the way to the terminal, and exit codes are told."""
    command, page = COMMANDS[name], pages[name]
    for parameter in command.params:
        if parameter.name != "help":
            told = getattr(parameter, "help", "")
            assert told and " ".join(told.replace("\\[", "[").split()) in page, parameter.name
    assert "Exit codes: 0 done; 2 the input is wrong" in page
    for paragraph in command.help.split("\n\n"):
        assert " ".join(paragraph.replace(AS_IT_STANDS, "").split()) in page


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_short_and_use_options_that_exist(name: str) -> None:
    block = next(part for part in COMMANDS[name].help.split("\n\n") if part.startswith(AS_IT_STANDS))
    examples = block.splitlines()[1:]
    known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert examples
    for line in examples:
        assert line.startswith(f"  pencil {name}") and len(line) <= 78
        assert set(re.findall(r"--[a-z-]+", line)) <= known
