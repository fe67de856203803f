"""`pencil labels` shows what each choice touches, and writes the final labels with people's decisions in them."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pencil.results.decisions import Decisions

from .conftest import QUICK, Command, write_rows

Table = list[dict[str, str]]


def read(path: Path) -> Table:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_counts_without_writing(pencil: Command, trained: Path) -> None:
    before = set(trained.iterdir())
    ended = pencil("labels", trained)
    assert ended.code == 0, ended.err
    assert "--keep-quality" in ended.out and "--relabel-confidence" in ended.out and "--apply" in ended.out
    assert set(trained.iterdir()) == before


def test_moved_thresholds_change_the_counts(pencil: Command, trained: Path) -> None:
    own = pq.read_table(trained / "labels.parquet")
    counts = json.loads(pencil("labels", trained, "--json").out)
    decisions = own["decision"].to_pylist()
    assert counts["decisions"] == {name: decisions.count(name) for name in ("keep", "relabel", "review")}
    assert counts["labels"] == len(decisions) == sum(counts["decisions"].values())
    strict = json.loads(pencil("labels", trained, "--keep-quality", 1, "--relabel-confidence", 1, "--json").out)
    assert strict["decisions"]["review"] == len(decisions), "nothing is that certain"
    assert counts["touched"]["keep_quality"]["0.5"] == counts["decisions"]


def test_a_label_that_fills_a_gap_differs_from_none(pencil: Command, place: Path) -> None:
    write_rows(place / "rows.npz", y=np.where(np.arange(120) % 5, np.arange(120) % 3, -1), clean=None)
    pencil("train", "rows.npz", "--out", "run", *QUICK)
    loosest = ("--keep-quality", 0, "--relabel-confidence", 0)
    final = json.loads(pencil("labels", "run", *loosest, "--json").out)["final"]
    assert final["filled"] == 24 and final["changed"] == final["relabelled"] - 24
    shown = pencil("labels", "run", *loosest).out
    assert f"; {final['changed']:,} differ from the given ones, 24 are where none was given." in shown


def test_no_threshold_replaces_unseen_what_the_run_was_told_to_be_careful_about(pencil: Command, trained: Path) -> None:
    own = pq.read_table(trained / "labels.parquet")
    columns = dict(zip(own.column_names, own.columns, strict=True))
    columns |= {"split": pa.array(["held-out"] * len(own)), "decision": pa.array(["review"] * len(own))}
    pq.write_table(pa.table(columns), trained / "labels.parquet")
    result = json.loads((trained / "result.json").read_text())
    (trained / "checksums.json").unlink()
    loosest = ("--keep-quality", 0, "--relabel-confidence", 0, "--json")
    assert json.loads(pencil("labels", trained, *loosest).out)["final"]["relabelled"]
    (trained / "result.json").write_text(json.dumps(result | {"caution": "the network knows little."}))
    counts = json.loads(pencil("labels", trained, *loosest).out)
    assert counts["final"]["relabelled"] == counts["decisions"]["relabel"] == 0
    assert not any(row["relabel"] for rows in counts["touched"].values() for row in rows.values())


@pytest.mark.parametrize("name", ["final.csv", "final.parquet"])
def test_apply_writes_peoples_decisions_over_the_runs(pencil: Command, trained: Path, name: str) -> None:
    own = pq.read_table(trained / "labels.parquet").to_pylist()
    with Decisions(trained / "decisions.sqlite") as store:
        store.decide(own[0]["id"], 2, reviewer="me", key="1")
        store.decide(own[1]["id"], None, reviewer="me", key="2")
        store.decide(own[2]["id"], 1, reviewer="me", key="3")
        store.undo(reviewer="me", key="4")
    ended = pencil("labels", trained, "--apply", "--out", name)
    assert ended.code == 0, ended.err
    final = pq.read_table(name) if name.endswith("parquet") else pa.Table.from_pylist(read(Path(name)))
    assert final["id"].to_pylist() == [row["id"] for row in own]
    first = final.to_pylist()[0]
    assert (int(first["final"]), first["final_name"], first["source"]) == (2, "2", "reviewed")
    assert final["source"].to_pylist().count("reviewed") == 1
    where = {"keep": ("given", "given"), "relabel": ("relabelled", "corrected"), "review": ("undecided", "given")}
    for row, got in list(zip(own, final.to_pylist(), strict=True))[1:]:
        source, column = where[row["decision"]]
        assert got["source"] == source and int(got["final"]) == row[column]


def test_the_usual_file_is_in_the_run_folder_and_can_be_written_again(pencil: Command, trained: Path) -> None:
    for _ in range(2):
        assert pencil("labels", trained, "--apply").code == 0
    assert len(read(trained / "final_labels.csv")) == 120


def test_the_file_trains_another_run(pencil: Command, trained: Path, rows: Path) -> None:
    pencil("labels", trained, "--apply", "--out", "final.csv")
    ended = pencil("train", rows, "--labels", "final.csv:final_name", "--out", "again", *QUICK)
    assert ended.code == 0, ended.err
    given = {row["id"]: row["given"] for row in pq.read_table("again/labels.parquet").to_pylist()}
    assert given == {row["id"]: int(row["final"]) for row in read(Path("final.csv"))}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--out", "final.csv"], "--apply"),
        (["--apply", "--out", "final.txt"], ".parquet"),
        (["--keep-quality", "2"], "keep_quality"),
    ],
)
def test_bad_input_is_one_line(pencil: Command, trained: Path, arguments: list[str], named: str) -> None:
    ended = pencil("labels", trained, *arguments)
    assert ended.code == 2 and named in ended.line


def test_a_file_that_exists_is_left_alone(pencil: Command, trained: Path) -> None:
    Path("final.csv").write_text("mine")
    assert pencil("labels", trained, "--apply", "--out", "final.csv").code == 2
    assert Path("final.csv").read_text() == "mine"


def test_damaged_files_are_one_line(pencil: Command, trained: Path) -> None:
    (trained / "decisions.sqlite").write_bytes(b"rubbish" * 100)
    assert "decisions.sqlite is damaged" in pencil("labels", trained).line
    (trained / "decisions.sqlite").unlink()
    (trained / "classes.json").write_text('["a", "b"]')
    assert "classes.json is damaged" in pencil("labels", trained).line
    (trained / "checksums.json").unlink()
    assert "classes.json does not have" in pencil("labels", trained).line
