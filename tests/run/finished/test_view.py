"""A notebook shows a result as HTML: figures, curves, suspects, and nothing that could run."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import pencil
from pencil.run.finished.result import Result

NASTY = "<script>alert(1)</script>"


class Read(HTMLParser):
    """Collects tags and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data.strip())


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    rng = np.random.default_rng(0)
    clean = np.arange(90) % 3
    x = (rng.normal(size=(90, 4)) + 4 * np.eye(4)[clean]).astype(np.float32)
    wrong = np.where(np.arange(90) % 9 == 0, (clean + 1) % 3, clean)
    dataset = pencil.data.from_arrays(x, wrong, class_names=[f"{NASTY}{letter}" for letter in "abc"])
    out: Path = tmp_path_factory.mktemp("view") / "run"
    return pencil.fit(dataset, backbone="mlp", epochs=[8, 1, 1], out=out, settings={"hardware": {"threads": 1}})


def test_figures_suspects_and_the_folder_are_shown(result: Result) -> None:
    shown = Read(result._repr_html_())
    assert str(result.folder) in shown.text
    assert f"{result.summary['num_suspect']:,} to look at" in shown.text
    assert "svg" in shown.tags
    labels = result.labels.to_pylist()
    worst = min((row for row in labels if row["decision"] != "keep"), key=lambda row: row["quality"])
    cells = shown.text[shown.text.index("The most suspect labels:") :]
    assert worst["id"] in cells and f"{worst['quality']:.2f}" in cells


def test_names_from_data_are_text(result: Result) -> None:
    shown = Read(result._repr_html_())
    assert "script" not in shown.tags
    assert NASTY in "".join(shown.text)
