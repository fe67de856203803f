"""Every kind of run has a report; what it lacks is left out or said."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pencil.errors import PencilError
from pencil.report import make_report, shows_examples
from pencil.results.read import read_run

from .conftest import PICTURE, Element, MakeRun, read_page, report_of, table_of


def titles(page: Element) -> list[str]:
    return [caption.text for caption in page.all("figcaption")]


def tile_names(page: Element) -> list[str]:
    return [title.text for title in page.all("span", kind="title")]


def test_without_a_test_set(make_run: MakeRun) -> None:
    page = read_page(report_of(make_run(test=False)))
    assert tile_names(page) == ["Correct labels", "Labels changed", "Suspects", "Estimated noise"]
    assert "test from" not in " ".join(svg.attributes.get("aria-label", "") for svg in page.all("svg"))


def test_without_clean_labels_agreement_takes_their_place(make_run: MakeRun) -> None:
    page = read_page(report_of(make_run(clean=False)))
    assert "Correct labels" not in tile_names(page) and "Correct training labels" not in titles(page)
    assert "Network agrees with the labels it learned" in titles(page)
    assert not [heading for heading in page.all("h2") if "truth" in heading.text]


def test_rows_show_their_values(make_run: MakeRun) -> None:
    values = [(f"feature {number}", f"{number}.5") for number in range(12)]
    page = read_page(report_of(make_run(), lambda ids: [values] * len(ids)))
    card = page.all("ol", kind="gallery")[0].all("li")[0]
    assert [d.text for d in card.all("dd")] == [f"{number}.5" for number in range(8)]
    assert "and 4 more values" in card.text and not card.all("img")


def test_long_texts_are_cut(make_run: MakeRun) -> None:
    page = read_page(report_of(make_run(), lambda ids: [[("text", "word " * 20_000)]] * len(ids)))
    (shown,) = page.all("ol", kind="gallery")[0].all("li")[0].all("dd")
    assert shown.text.startswith("word word") and shown.text.endswith("…") and len(shown.text) < 1000


@pytest.mark.parametrize("num_classes", [2, 30, 31, 200])
def test_few_and_many_classes(make_run: MakeRun, num_classes: int) -> None:
    page = read_page(report_of(make_run(num_classes=num_classes, n=6 * num_classes + 40)))
    matrix = [title for title in titles(page) if "percent of each row" in title]
    assert len(matrix) == (num_classes <= 30)
    assert len(table_of(page, "Most confused pairs")) <= (10 if num_classes <= 30 else 20)
    assert len(table_of(page, "Examples of")) == (num_classes if num_classes <= 30 else 20)


def test_one_epoch(make_run: MakeRun) -> None:
    page = read_page(report_of(make_run(epochs=(1,))))
    assert "Accuracy of the network" in titles(page) and "backbone epoch 1." in page.text


def test_a_method_that_learns_no_labels_says_so(make_run: MakeRun) -> None:
    page = read_page(report_of(make_run(learned=False, epochs=(7,))))
    lead = page.all("p", kind="lead")[0].text
    assert "only held-out labels are questioned" in lead and "train with the method pencil" in lead
    assert any(" train shapes --out " in f" {code.text}" for code in page.all("code"))


def test_a_method_that_was_told_more_has_a_star(make_run: MakeRun) -> None:
    folder = make_run()
    assert read_page(report_of(folder)).all("h1")[0].text == "shapes , trained with pencil"
    result = json.loads(folder.result.read_text())
    told = {"method": "forward", "extra_information": "the true transition matrix"}
    folder.result.write_text(json.dumps(result | told))
    page = read_page(report_of(folder))
    assert page.all("h1")[0].text == "shapes , trained with forward *"
    assert "forward * (told the true transition matrix)" in page.text


def test_a_run_that_doubts_nothing(make_run: MakeRun) -> None:
    folder = make_run(wrong=0.0, least=0.5)
    result = json.loads(folder.result.read_text())
    assert result["num_changed"] == result["num_suspect"] == 0
    page = read_page(report_of(folder))
    assert "All 120 given labels stand" in page.text and "No class is labelled as another" in page.text


def test_labels_in_doubt_do_not_stand_where_none_was_changed(make_run: MakeRun) -> None:
    folder = make_run(learned=False, held_out=0, epochs=(7,))
    result = json.loads(folder.result.read_text())
    assert result["num_changed"] == 0 and result["num_suspect"] == 13
    lead = read_page(report_of(folder)).all("p", kind="lead")[0].text
    assert "stand" not in lead and "13 of 120 given labels are in doubt" in lead


def test_a_run_without_history(make_run: MakeRun) -> None:
    folder = make_run()
    folder.history.unlink()
    assert "The run has no history" in read_page(report_of(folder)).text


def test_without_matplotlib_the_page_says_so(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = read_page(report_of(make_run()))
    assert not page.all("svg", kind="figure") and "matplotlib cannot be imported" in page.text
    assert table_of(page, "Most confused pairs") and page.all("ol", kind="gallery")


def test_data_that_cannot_be_read_costs_only_the_pictures(make_run: MakeRun) -> None:
    def gone(ids: Sequence[str]) -> list[bytes]:
        raise PencilError("the folder photos does not exist")

    made = make_report(read_run(make_run().path), gone)
    page = read_page(made.html)
    assert made.missing == "the folder photos does not exist" and made.missing in page.text
    assert len(page.all("ol", kind="gallery")[0].all("li")) == 24


def test_a_page_tells_whether_it_shows_examples(make_run: MakeRun) -> None:
    folder = make_run(ids=[f'alt="The example <dl class="values">{number}' for number in range(120)])
    assert shows_examples(report_of(folder, lambda ids: [PICTURE] * len(ids)))
    assert shows_examples(report_of(folder, lambda ids: [[("width", "3")]] * len(ids)))
    assert not shows_examples(report_of(folder))


def test_examples_are_looked_at_only_where_there_are_suspects(make_run: MakeRun) -> None:
    folder = make_run(wrong=0.0, n=120)
    asked: list[list[str]] = []
    make_report(read_run(folder.path), lambda ids: asked.append(list(ids)) or [b""] * len(ids))  # type: ignore[func-returns-value]
    suspects = json.loads(folder.result.read_text())["num_suspect"]
    assert bool(asked) == (suspects > 0)


def test_neither_torch_nor_matplotlib_is_imported_before_it_is_needed(tmp_path: Path) -> None:
    code = "import sys, pencil.report, pencil.cli.report; sys.exit(bool({'torch', 'matplotlib'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
