"""Every code block of the documentation runs, in a reader's place, in the order it stands on its page."""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
GENERATED = {"results.md", "label_errors.md"}
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = {"text", "toml"}
"""Languages of blocks that are only looked at."""
SHORTENED = """
pencil() {
  case "$1 $*" in
    review*) ;;
    train*--epochs*|train*--resume*|train*--from*) command pencil "$@"; return ;;
    train*) command pencil "$@" --epochs 2,2,2 --backbone mlp; return ;;
    *) command pencil "$@"; return ;;
  esac
  command pencil "$@" --no-open --port 0 > review.log & local page=$!
  until grep -q "review: http" review.log; do kill -0 $page; sleep 0.1; done
  kill -TERM $page; wait $page || test $? = 143
}
"""
"""Training takes a few epochs; a review, which waits for a person, is ended as soon as its page is there."""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of each code block."""
    return FENCE.findall(page.read_text(encoding="utf-8"))


def pages() -> list[Path]:
    found = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in GENERATED]
    return [README, *(page for page in found if "decisions" not in page.parts)]


FIRST = {"README.md", "start.md", "loop.md", "method.md", "folder.md", "deploy.md"}
"""Pages that every test run goes through; `make docs` goes through all."""
RUNNING = [page for page in pages() if any(language not in SHOWN for language, _ in blocks(page))]


def test_every_block_says_what_it_is() -> None:
    assert len(RUNNING) > 10
    for page in pages():
        text = page.read_text(encoding="utf-8")
        assert text.count("\n```") == 2 * len(blocks(page)), f"{page} has a block that is not closed"
        assert {language for language, _ in blocks(page)} <= SHOWN | {"python", "bash"}, page


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page.name in FIRST else pytest.mark.extended) for page in RUNNING],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_a_page_runs(page: Path, place: Path) -> None:
    torch.set_num_threads(1)
    names: dict[str, object] = {"__name__": "page"}
    if page == README:  # It speaks of arrays that the reader has.
        names |= {"x": np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32), "y": np.arange(40) % 2}
    for number, (language, text) in enumerate(blocks(page), start=1):
        if text.startswith("make "):
            targets = re.findall(r"^make (\w+)", text, re.MULTILINE)
            assert all(f"\n{target}:" in (ROOT / "Makefile").read_text() for target in targets)
        elif language == "bash":
            _bash(text, f"block {number} of {page.name}")
        elif language == "python":
            with contextlib.redirect_stdout(None):
                exec(compile(text, f"{page.name}, block {number}", "exec"), names)


def _bash(text: str, where: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", SHORTENED + text], env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, f"{where}\n{ended.stdout}\n{ended.stderr}"
