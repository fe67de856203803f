"""The paper's numbers are those that it prints."""

import os
import re
from pathlib import Path

import pytest

from pencil.reproduce.paper import PaperRow, Printed, paper_tables, parse

LABELS = {"table2": "tb2", "table3": "tb3", "table4": "tb4", "table5": "tb5", "table6": "tb6"}


def test_a_number_may_have_a_spread_and_may_be_a_word() -> None:
    assert (parse("57.79±3.86").mean, parse("57.79±3.86").spread) == (57.79, 3.86)
    assert (parse("92.4").mean, parse("92.4").spread, parse("92.4").text) == (92.4, None, "92.4")
    assert (parse("fail").mean, parse("fail").text) == (None, "fail")


@pytest.mark.parametrize(
    ("table", "system", "measure", "cell", "printed"),
    [  # Copied by hand from the paper.
        ("table2", "pencil", "last", "symmetric-60", "57.79±3.86"),
        ("table2", "pencil", "last", "symmetric-80", "fail"),
        ("table2", "truncated_lq", "last", "asymmetric-40", "47.66±0.69"),
        ("table3", "pencil", "last", "symmetric-50", "90.36"),
        ("table3", "cross_entropy", "last", "symmetric-90", "16.30"),
        ("table4", "cnn_crf", "best", "asymmetric-50", "84.0"),
        ("table4", "pencil", "best", "asymmetric-40", "91.01"),
        ("table5", "pencil", "last", "3000-0", "82.64"),
        ("table6", "pencil", "best", "web", "73.49"),
        ("clean", "cross_entropy", "last", "symmetric-0", "94.05"),
    ],
)
def test_entries_copied_by_hand(table: str, system: str, measure: str, cell: str, printed: str) -> None:
    row = paper_tables()[table].row(system)
    assert row is not None
    found = row.printed(measure, cell)
    assert found is not None and found.text == printed


def test_what_the_paper_does_not_say_is_not_there() -> None:
    tables = paper_tables()
    pencil, plain = tables["table2"].row("pencil"), tables["table5"].row("cross_entropy")
    assert pencil is not None and pencil.printed("best", "symmetric-20") is None
    assert plain is not None and plain.cells == ("plain",)


@pytest.mark.parametrize(
    ("beside", "tables"),
    [("default", ("table3", "table4")), ("default-cifar100", ("table2",)), ("fast", ("table3",))],
)
def test_beside_the_default_stand_the_papers_own_numbers(beside: str, tables: tuple[str, ...]) -> None:
    ours = paper_tables()[beside].row("pencil")
    theirs = [row for table in tables if (row := paper_tables()[table].row("pencil"))]
    assert ours is not None and len(theirs) == len(tables)
    for measure, values in ours.values.items():
        for cell, printed in values.items():
            assert printed in [row.printed(measure, cell) for row in theirs], (measure, cell)
    assert {cell for row in theirs for cell in row.cells} & set(ours.cells) == set(ours.cells) - {
        "aggre", "random1", "symmetric-0",
    }  # fmt: skip


def test_starred_rows_are_those_of_the_paper() -> None:
    tables = paper_tables()
    starred = {(name, row.number) for name, table in tables.items() for row in table.rows if row.starred}
    assert starred == {("table2", 2), ("table4", 2), ("table4", 3)}


def _tex() -> str:
    data = os.environ.get("PENCIL_TEST_DATA")
    path = Path(data).parent / "paper" / "pencil.tex" if data else None
    if path is None or not path.is_file():
        pytest.skip("the paper's text does not lie beside PENCIL_TEST_DATA")
    return path.read_text(encoding="utf-8")


def _numbers_by_line(tex: str, label: str) -> list[list[str]]:
    """Return the numbers of each line of a table of the paper, in order."""
    end = tex.index(rf"\label{{{label}}}")
    text = tex[tex.index(r"\hline", tex.rindex(r"\begin{tabular}", 0, end)) : end]
    text = re.sub(r"\\phantom\{[^}]*\}", "", text.replace(r"$\pm$", "±"))
    return [re.findall(r"\d+\.\d+(?:±\d+\.\d+)?|\bfail\b", line) for line in text.splitlines()]


@pytest.mark.parametrize("table", ["table2", "table3", "table4"])
def test_every_row_is_a_line_of_the_paper(table: str) -> None:
    lines = _numbers_by_line(_tex(), LABELS[table])
    for row in paper_tables()[table].rows:
        for values in row.values.values():
            assert [printed.text for printed in values.values()] in lines, row


@pytest.mark.parametrize("table", ["table5", "table6"])
def test_every_number_ends_a_line_of_the_paper(table: str) -> None:
    ends = [line[-1] for line in _numbers_by_line(_tex(), LABELS[table]) if line]
    assert [printed.text for row in paper_tables()[table].rows for printed in _all(row)] == ends


def _all(row: PaperRow) -> list[Printed]:
    return [printed for values in row.values.values() for printed in values.values()]
