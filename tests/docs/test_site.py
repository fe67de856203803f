"""The site builds without a warning: every link, anchor, picture and name in the reference exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    ended = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def test_every_page_and_every_decision_is_in_the_navigation(site: Path) -> None:
    first = (site / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'href="([^"#:]*)"', first))
    for page in (ROOT / "docs").rglob("*.md"):
        address = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        address = "." if address == "index" else f"{address}/"
        assert address in linked, page


def test_the_reference_is_made_of_docstrings(site: Path) -> None:
    page = (site / "reference" / "python" / "index.html").read_text(encoding="utf-8")
    for words in ("Train on noisy labels and return the network and the corrected labels.", "PencilClassifier"):
        assert words in page


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text(encoding="utf-8"))
        assert loaded == [], page
