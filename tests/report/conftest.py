"""Runs on disk, made without training, and a reader of the page."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pencil.config import write_toml
from pencil.report import make_report
from pencil.results.documents import write_classes, write_json
from pencil.results.folder import RunFolder
from pencil.results.history import History
from pencil.results.labels_table import build_labels, write_labels
from pencil.results.read import read_run

MakeRun = Callable[..., RunFolder]
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(20)
VOID = {"meta", "img", "link", "input", "br", "hr"}


def write_run(
    path: Path, *, num_classes: int = 3, n: int = 120, epochs: tuple[int, ...] = (2, 3, 2),
    names: list[str] | None = None, test: bool = True, clean: bool = True, learned: bool = True, wrong: float = 0.3,
    held_out: int = 20, ids: list[str] | None = None, dataset: str = "shapes", least: float = 0.4,
) -> RunFolder:  # fmt: skip
    """Write a finished run whose corrected labels are the truth, but for a few; `least` is the quality of kept ones."""
    rng = np.random.default_rng(num_classes + n)
    folder = RunFolder.create(path)
    truth = np.arange(n) % num_classes
    spoiled = rng.random(n) < wrong
    given = np.where(spoiled, (truth + 1 + rng.integers(0, num_classes - 1, n)) % num_classes, truth)
    split = np.where(np.arange(n) < n - held_out, "train", "held-out")
    corrected = np.where((rng.random(n) < 0.05) | ((split == "train") & (not learned)), given, truth)
    moved = corrected != given
    quality = np.where(moved, rng.uniform(0, 0.45, n), rng.uniform(least, 1, n)).round(6)
    confidence = rng.uniform(0.5, 1, n).round(6)
    decision = np.where(~moved & (quality >= 0.5), "keep", np.where(moved & (confidence >= 0.7), "relabel", "review"))
    trained = moved & (split == "train")
    names = names or [f"class {number}" for number in range(num_classes)]
    table = build_labels(
        class_names=names, ids=ids or [f"img/{number:04}.png" for number in range(n)], given=given, corrected=corrected,
        confidence=confidence, entropy=1 - confidence, quality=quality, network=corrected, decision=decision,
        changed_at=np.where(trained, rng.integers(0, sum(epochs), n), -1), num_changes=np.where(trained, 1, 0),
        split=split, clean=truth if clean else None,
    )  # fmt: skip
    write_labels(folder.labels, table)
    write_classes(folder.classes, names)
    changed = int(moved.sum())
    result: dict[str, Any] = {
        "method": "pencil" if learned else "cross_entropy", "dataset": dataset, "seed": 0, "num_examples": n - held_out,
        "num_classes": num_classes, "num_changed": changed, "num_suspect": int((decision != "keep").sum()),
        "estimated_noise_rate": round(100 * changed / n, 4), "seconds": 75.25, "images_per_second": 1234.5,
        "environment": {"python": "3.11.7", "device": "CPU, 2 threads", "earlier": [
            {"python": "3.11.7", "device": "H200", "commit": "abc", "until_epoch": 3}, "damaged",
        ]},
    }  # fmt: skip
    result |= {"test_accuracy": {"best": 91.2345, "last": 93.4567}} if test else {}
    result |= {"label_accuracy": {"given": 70.1, "corrected": 95.6}} if clean else {}
    write_json(folder.result, result)
    write_history(folder, epochs, test=test, clean=clean)
    settings = {"method": result["method"], "seed": 0, "data": {"source": dataset, "noise": "symmetric:0.3"}}
    folder.config.write_text(write_toml(settings | {"optimizer": {"batch_size": 64, "nesterov": False}}))
    folder.set_state("finished")
    return folder


def write_history(folder: RunFolder, epochs: tuple[int, ...], *, test: bool, clean: bool) -> None:
    """Write one record an epoch."""
    history, epoch = History(folder.history), 0
    for name, length in zip(("backbone", "labels", "tuning"), epochs, strict=False):
        for _ in range(length):
            record: dict[str, Any] = {
                "epoch": epoch, "phase": name, "loss": 2 / (1 + epoch), "train_accuracy": 40.0 + epoch,
                "agreement": 50.0 + epoch, "relabelled": 3 * epoch, "seconds": 1.0,
            }  # fmt: skip
            record |= {"test_accuracy": 60.0 + epoch} if test else {}
            history.append(record | ({"label_accuracy": 70.0 + epoch} if clean else {}))
            epoch += 1


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Write a run below the test's folder."""

    def make(name: str = "run", **how: Any) -> RunFolder:
        return write_run(tmp_path / name, **how)

    return make


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run that no test changes."""
    return write_run(tmp_path_factory.mktemp("shared") / "run")


@pytest.fixture(scope="session")
def text(run: RunFolder) -> str:
    """Its page, with pictures."""
    return report_of(run, lambda ids: [PICTURE] * len(ids))


@pytest.fixture(scope="session")
def page(text: str) -> "Element":
    """The same page, parsed."""
    return read_page(text)


@dataclass
class Element:
    """An element of a page."""

    tag: str
    attributes: dict[str, str]
    inside: list["Element"] = field(default_factory=list)
    own: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text below, with single spaces."""
        return " ".join(" ".join(self.own).split())

    def all(self, tag: str = "", **attributes: str) -> list["Element"]:
        """Return the elements below of a kind; `kind` stands for the attribute class."""
        wanted = {("class" if key == "kind" else key): value for key, value in attributes.items()}
        return [
            element
            for element in self.inside
            if tag in ("", element.tag)
            and all(value in element.attributes.get(key, "").split() for key, value in wanted.items())
        ]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {key: value or "" for key, value in attrs})
        for above in self.open:
            above.inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.own.append(data)


def read_page(text: str) -> Element:
    """Parse a page; every element must be closed where it was opened."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == [reader.root]
    return reader.root


def report_of(folder: RunFolder, look: Any = None) -> str:
    """Return the page of a run."""
    return make_report(read_run(folder.path), look).html


def table_of(page: Element, caption: str) -> list[list[str]]:
    """Return the texts of the body of the table with that caption."""
    found = [table for table in page.all("table") if caption in table.all("caption")[0].text]
    body = found[0].all("tbody")[0]
    return [[cell.text for cell in row.inside if cell.tag in ("td", "th")] for row in body.all("tr")]
