"""Every code block of the documentation runs, in a reader's place, in the order it stands on its page."""

import contextlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from pencil.cli import run

from ..warm import LAUNCH, start_warm, warm_pair

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
GENERATED = {"results.md", "label_errors.md", "small_data.md"}
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PENCIL = re.compile(r"^(pencil (?:.*\\\n)*.*)$", re.MULTILINE)
SHOWN = {"text", "toml"}
"""Languages of blocks that are only looked at."""
LENGTH_GIVEN = {"--epochs", "--resume", "--from"}
REVIEW = """
pencil "$@" --no-open --port 0 > review.log & page=$!
until grep -q "review: http" review.log; do kill -0 $page; sleep 0.1; done
kill -TERM $page; wait $page || test $? = 143
"""
"""A review waits for a person; here it is ended as soon as its page is there."""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of each code block."""
    return FENCE.findall(page.read_text(encoding="utf-8"))


def pages() -> list[Path]:
    found = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in GENERATED]
    return [README, *(page for page in found if "decisions" not in page.parts)]


RUNNING = [page for page in pages() if any(language not in SHOWN for language, _ in blocks(page))]


def test_every_block_says_what_it_is() -> None:
    assert len(RUNNING) > 10
    for page in pages():
        text = page.read_text(encoding="utf-8")
        assert text.count("\n```") == 2 * len(blocks(page)), f"{page} has a block that is not closed"
        assert {language for language, _ in blocks(page)} <= SHOWN | {"python", "bash"}, page


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_runs(page: Path, place: Path) -> None:
    torch.set_num_threads(1)
    names: dict[str, object] = {"__name__": "page"}
    if page == README:  # It speaks of arrays that the reader has.
        names |= {"x": np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32), "y": np.arange(40) % 2}
    for number, (language, text) in enumerate(blocks(page), start=1):
        if text.startswith("make "):
            targets = re.findall(r"^make (\w+)", text, re.MULTILINE)
            assert all(f"\n{target}:" in (ROOT / "Makefile").read_text() for target in targets)
        elif language == "python":
            with contextlib.redirect_stdout(None):
                exec(compile(text, f"{page.name}, block {number}", "exec"), names)
        elif language == "bash":
            for command in _commands(text):
                _follow(command, f"block {number} of {page.name}")


def test_the_shown_source_refuses_an_option_that_it_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    [source] = [text for _, text in blocks(DOCS / "howto" / "dataset.md") if "def read(request)" in text]
    exec(compile(source, "dataset.md", "exec"), {})
    assert run(["train", "mine.py:read", "--set", "data.options.cuont=120", "--out", "run"]) == 2
    assert 'mine has no option "cuont". Did you mean "count"?' in capsys.readouterr().err
    assert not Path("run").exists()


def _commands(text: str) -> list[str]:
    """Return a block's commands of pencil one by one, and what stands between them together as one."""
    parts = PENCIL.split(text)
    return [part for part in parts if shlex.split(part, comments=True)]


def _follow(command: str, where: str) -> None:
    """Run a command as the reader would; pencil in this process, where its libraries are loaded already."""
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    if words[0] == "torchrun":
        # The launcher itself is run with these words where a partner is killed, in cli/test_processes.py.
        assert tuple(words[1:5]) == (*LAUNCH, "-m", "pencil"), where
        warm_pair(start_warm, *words[3:])
    elif words[:2] == ["pencil", "review"]:
        _bash(REVIEW, where, *words[1:])
    elif words[0] == "pencil" and "\n" not in command:
        _pencil(words[1:], where)
    else:
        _bash(command, where)


def _pencil(words: list[str], where: str) -> None:
    with contextlib.ExitStack() as stack:
        if ">" in words:
            words, target = words[: words.index(">")], words[-1]
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(Path(target).open("w"))))
        if words[0] == "train" and not LENGTH_GIVEN & set(words):
            words = [*words, "--epochs", "2,2,2", "--backbone", "mlp"]
        assert run(words) == 0, f"{where}: {shlex.join(words)}"


def _bash(text: str, where: str, *arguments: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text, "page", *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}, timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, f"{where}\n{ended.stdout}\n{ended.stderr}"
