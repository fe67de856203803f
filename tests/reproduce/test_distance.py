"""PENCIL's cells beside the paper's stand first on the page of results, near or not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pencil.reproduce.distance import distance
from pencil.reproduce.page import Grid
from pencil.reproduce.studies import STUDIES

Make = Callable[..., dict[str, Any]]
DOCS = Path(__file__).parents[2] / "docs"


def told(*records: dict[str, Any], base: Path = DOCS) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Return the line and, by its cell, each row of the table."""
    parts = distance({name: [r for r in records if r["study"] == name] for name in STUDIES}, base)
    if not parts:
        return "", {}
    _, line, grid = parts
    assert isinstance(line, str) and isinstance(grid, Grid)
    return line, {f"{row[0]}, {row[1]}": row[2:] for row in grid.rows}


def trial(record: Make, kind: str, rate: int, last: float, **changed: Any) -> dict[str, Any]:
    table = {"symmetric": "table3", "asymmetric": "table4"}[kind]
    return record(study=table, cell=f"{kind}-{rate}", test_accuracy={"best": last, "last": last}, **changed)


def test_cells_no_more_than_half_a_point_below_the_paper_are_counted(record: Make) -> None:
    # The paper's Table 3 has 93.28, 92.24 and 90.36 at 10, 30 and 50%, Table 4 80.06 at 50%.
    line, rows = told(
        trial(record, "symmetric", 10, 92.68),
        trial(record, "symmetric", 10, 92.88, seed=1),
        trial(record, "symmetric", 30, 91.73),
        trial(record, "symmetric", 50, 95.00),
        trial(record, "asymmetric", 50, 70.06),
    )
    assert "no more than 0.5 points below it: 2 of 3 in Table 3; 0 of 1 in Table 4." in line
    assert rows["Table 3, symmetric 10%"] == ("93.28", "92.78 ± 0.14 (2)", "−0.50")
    assert rows["Table 3, symmetric 30%"][2] == "−0.51"
    assert rows["Table 3, symmetric 90%"][1:] == ("missing", "–")
    assert rows["Table 4, asymmetric 50%"][2] == "−10.00"


@pytest.mark.parametrize(
    "changed",
    [{"dataset": "digits"}, {"asked": {"method": "pencil", "optimizer": {"batch_size": 64}}}, {"system": "lq"}],
)
def test_other_data_settings_and_systems_are_not_pencil_beside_the_paper(record: Make, changed: Any) -> None:
    assert told(trial(record, "symmetric", 10, 92.68, **changed)) == ("", {})


def test_what_was_tried_is_linked_where_it_can_be_read(record: Make, tmp_path: Path) -> None:
    trials = trial(record, "symmetric", 10, 92.68)
    link = "[decision 15](decisions/0015-distance-to-the-paper.md)"
    assert link in told(trials)[0] and "decision" not in told(trials, base=tmp_path)[0]
