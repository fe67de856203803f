"""`pencil train --from` goes on from a reviewed run; the run it starts from stays as it was."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pencil.results.decisions import Decisions

from ..warm import WarmProcess
from .conftest import QUICK, Command, listing, write_rows
from .test_resume import _wait_for_epoch

NETWORK = """
import torch
def make(spec, num_classes):
    return torch.nn.Linear(8, num_classes)
"""


@pytest.fixture
def parent(quick_run: Path) -> dict[str, int]:
    """A finished run in the folder `run`, and what a person decided of it."""
    table = pq.read_table("run/labels.parquet").to_pylist()
    chosen = {row["id"]: (row["given"] + n) % 3 for n, row in enumerate(table) if row["split"] == "train" and n < 6}
    with Decisions(Path("run/decisions.sqlite")) as store:
        for name, label in chosen.items():
            store.decide(name, label, reviewer="me", key=name)
    return chosen


def final(run: str) -> dict[str, dict[str, object]]:
    return {row["id"]: row for row in pq.read_table(f"{run}/labels.parquet").to_pylist()}


def test_reviewed_labels_are_locked_and_the_parent_untouched(pencil: Command, parent: dict[str, int]) -> None:
    before = listing(Path("run"))
    ended = pencil("train", "--from", "run", "--out", "new")
    assert ended.code == 0, ended.err
    assert f"{len(parent)} reviewed and locked" in ended.err
    assert listing(Path("run")) == before
    assert {name: final("new")[name]["corrected"] for name in parent} == parent
    history = [json.loads(line) for line in Path("new/history.jsonl").read_text().splitlines()]
    assert [record["phase"] for record in history] == ["labels", "tuning"]
    assert json.loads(Path("new/status.json").read_text())["parent"] == str(Path("run").resolve())
    counts = json.loads(pencil("labels", "new", "--json").out)
    assert counts["final"]["reviewed"] == len(parent)


def test_what_people_chose_stands_for_held_out_examples_too(pencil: Command, parent: dict[str, int]) -> None:
    apart = [row for row in final("run").values() if row["split"] == "held-out"][:6]
    chosen = {str(row["id"]): next(c for c in range(3) if c not in (row["given"], row["corrected"])) for row in apart}
    with Decisions(Path("run/decisions.sqlite")) as store:
        for name, label in chosen.items():
            store.decide(name, label, reviewer="me", key=name)
    ended = pencil("train", "--from", "run", "--out", "new")
    assert ended.code == 0, ended.err
    assert f"{len(parent) + len(chosen)} reviewed and locked" in ended.err
    rows = final("new")
    assert len(chosen) > 2 and all(rows[name]["split"] == "held-out" for name in chosen)
    assert {name: rows[name]["corrected"] for name in chosen} == chosen
    assert all(rows[name]["trusted"] and rows[name]["decision"] == "relabel" for name in chosen)
    assert not any(row["trusted"] for name, row in rows.items() if name not in (chosen | parent))


def test_a_source_may_be_given_again_with_more_examples(
    pencil: Command, parent: dict[str, int], rows: Path, place: Path
) -> None:
    with np.load(rows) as arrays:
        x, y = arrays["x"], arrays["y"]
    more = write_rows(place / "more.npz", x=np.concatenate([x + 9, x]), y=np.concatenate([y, y]), clean=None)
    ended = pencil("train", more, "--from", "run", "--out", "new")
    assert ended.code == 0, ended.err
    rows_now = final("new")
    assert len(rows_now) == 240
    assert all(rows_now[k]["corrected"] == v for k, v in parent.items() if rows_now[k]["split"] == "train")


def test_data_that_has_moved_is_asked_for(pencil: Command, place: Path) -> None:
    moved = write_rows(place / "rows.npz")
    assert pencil("train", moved, "--out", "mine", *QUICK).code == 0
    moved.rename("elsewhere.npz")
    ended = pencil("train", "--from", "mine", "--out", "new")
    assert ended.code == 2 and ended.line.endswith("give it again: pencil train SOURCE --from mine")
    assert pencil("train", "elsewhere.npz", "--from", "mine", "--out", "new").code == 0


def test_a_dry_run_says_which_phases_are_left(
    pencil: Command, parent: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pencil.run.training.estimate.SAMPLE_SECONDS", 0.2)
    ended = pencil("train", "--from", "run", "--out", "new", "--dry-run")
    assert ended.code == 0, ended.err
    assert "backbone: 0 epochs" in ended.out and "labels: 1 epochs" in ended.out
    assert not Path("new").exists()


def test_code_that_the_parent_names_must_be_named_again(pencil: Command, rows: Path) -> None:
    Path("own.py").write_text(NETWORK)
    network = ("--backbone", "own.py:make")
    assert pencil("train", rows, "--out", "own", *QUICK, *network).code == 0
    ended = pencil("train", "--from", "own", "--out", "new")
    assert ended.code == 2 and "--backbone own.py:make" in ended.line
    assert pencil("train", "--from", "own", "--out", "new", *network).code == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--from", "nowhere", "--out", "new"], "nowhere does not exist"),
        (["--from", "run", "--out", "run"], "already holds a run"),
        (["--from", "run", "--out", "new", "--resume"], "give one of them"),
        (["digits", "--from", "run", "--out", "new"], "other classes"),
    ],
)
def test_bad_input_is_one_line(pencil: Command, parent: dict[str, int], arguments: list[str], named: str) -> None:
    ended = pencil("train", *arguments)
    assert ended.code == 2 and named in ended.line
    assert not Path("new").exists()


@pytest.mark.slow
def test_after_ctrl_c_it_goes_on_without_its_parent(
    pencil: Command, warm: Callable[..., WarmProcess], parent: dict[str, int]
) -> None:
    how = ("--from", "run", "--epochs", "0,40,4", "--set", "optimizer.batch_size=16")
    assert pencil("train", *how, "--out", "whole").code == 0
    child = warm("train", *how, "--out", "broken")
    _wait_for_epoch("broken", 3, child)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=100)
    assert child.returncode == 130, err
    Path("run").rename("elsewhere")
    resumed = pencil("train", "--resume", "--out", "broken")
    assert resumed.code == 0, resumed.err
    for name in ("model.safetensors", "label_distributions.safetensors", "labels.parquet"):
        assert Path("broken", name).read_bytes() == Path("whole", name).read_bytes(), name
