"""A real shell completes commands, options and names once `--install-completion` has run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent

pytestmark = pytest.mark.skipif(
    shutil.which("bash") is None or not (BIN / "pencil").exists(), reason="needs bash and the installed command"
)


def bash(script: str, home: Path) -> str:
    """Run a script in bash with this home folder and the command on the path."""
    known = {**os.environ, "HOME": str(home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    ended = subprocess.run(["bash", "--norc", "-c", script], env=known, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder where completion was installed from within bash."""
    folder = tmp_path_factory.mktemp("home")
    # Something after it, so that bash stays the parent, which is how the shell is recognised.
    bash("pencil --install-completion; true", folder)
    return folder


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["au"], {"audit"}),
        (["train", "--backb"], {"--backbone"}),
        (["train", "--method", "boot"], {"bootstrap_hard", "bootstrap_soft"}),
        (["train", "dig"], {"digits"}),
        (["train", "digits", "--noise", "symm"], {"symmetric", "symmetric_excluding"}),
        (["list", "rec"], {"recipes"}),
    ],
)
def test_bash_completes(home: Path, typed: list[str], offered: set[str]) -> None:
    assert ".bash_completions/pencil.sh" in (home / ".bashrc").read_text()
    words = " ".join(f"'{word}'" for word in ["pencil", *typed])
    script = (
        f"source ~/.bash_completions/pencil.sh; COMP_WORDS=({words}); COMP_CWORD={len(typed)};"
        "function_name=$(complete -p pencil | sed 's/.*-F \\([^ ]*\\).*/\\1/'); $function_name pencil;"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert set(bash(script, home).split()) == offered
