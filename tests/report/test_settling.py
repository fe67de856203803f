"""A curve shows labels as learned; where they settled afterwards, the page says so beside it, with both figures."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import pencil
from pencil.config import read_toml, write_toml
from pencil.results.folder import RunFolder

from .conftest import Element, MakeRun, read_page, report_of

CORRECT, AGREE = "Correct training labels", "Network agrees with the labels it learned"


def with_options(folder: RunFolder, options: Any) -> RunFolder:
    folder.config.write_text(write_toml(read_toml(folder.config) | {"options": options}))
    return folder


def notes(page: Element) -> dict[str, str]:
    """The notes below figures, by the figure's title."""
    shown = {f.all("figcaption")[0].text: f.all("p", kind="small") for f in page.all("figure")}
    return {title: found[0].text for title, found in shown.items() if found}


def test_both_accuracies_are_told(make_run: MakeRun) -> None:
    page = read_page(report_of(with_options(make_run(), {"settle": True})))
    # The history ends at 76%, result.json says 95.6%.
    assert notes(page) == {
        CORRECT: "The labels here are as they were learned: after the last epoch 76.0% of the training labels were"
        " correct. Then the network had half a say in them (options.settle), and the run ended with 95.6% correct."
    }


def test_a_real_run_by_default_settles_and_says_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 2
    x = rng.normal(4.0 * labels[:, None] - 2, 1, (120, 4)).astype(np.float32)
    pencil.fit(x, labels, out=tmp_path / "run", epochs=(1, 2, 1), backbone="mlp", device="cpu")
    [(title, note)] = notes(read_page(report_of(RunFolder(tmp_path / "run")))).items()
    assert title == AGREE and "half a say" in note and "changed." in note


def test_without_the_truth_changed_labels_are_counted(make_run: MakeRun) -> None:
    folder = with_options(make_run(clean=False), {"settle": True})
    rows = pq.read_table(folder.labels).to_pylist()
    changed = sum(row["split"] == "train" and row["given"] != row["corrected"] for row in rows)
    [(title, note)] = notes(read_page(report_of(folder))).items()
    assert title == AGREE
    assert "after the last epoch 18 of the training labels were changed" in note
    assert note.endswith(f"and the run ended with {changed} changed.") and changed != 18


def test_what_is_not_known_is_not_told(make_run: MakeRun) -> None:
    folder = with_options(make_run(clean=False), {"settle": True})
    records = [json.loads(line) for line in folder.history.read_text().splitlines()]
    kept = ({k: v for k, v in record.items() if k != "relabelled"} for record in records)
    folder.history.write_text("".join(json.dumps(record) + "\n" for record in kept))
    assert notes(read_page(report_of(folder))) == {
        AGREE: "The labels here are as they were learned. Then the network had half a say in them (options.settle)."
    }


@pytest.mark.parametrize("options", [{"settle": False}, {}, {"settle": "yes"}, 3], ids=["no", "unsaid", "word", "odd"])
def test_labels_that_did_not_settle_need_no_words(make_run: MakeRun, options: Any) -> None:
    assert not notes(read_page(report_of(with_options(make_run(), options))))
