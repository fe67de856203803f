"""What a report says agrees with the run's files, counted again here."""

import json
from collections import Counter
from typing import Any

import pyarrow.parquet as pq
import pytest

from pencil.results.folder import RunFolder

from .conftest import Element, table_of


@pytest.fixture
def rows(run: RunFolder) -> list[dict[str, Any]]:
    return list(pq.read_table(run.labels).to_pylist())


def test_the_headline_is_that_of_result_json(run: RunFolder, page: Element, rows: list[dict[str, Any]]) -> None:
    result = json.loads(run.result.read_text())
    tiles = {tile.all("span", kind="title")[0].text: tile.text for tile in page.all("ul", kind="tiles")[0].all("li")}
    assert "93.5%" in tiles["Test accuracy"] and "91.2%" in tiles["Test accuracy"]
    assert "70.1%" in tiles["Correct labels"] and "95.6%" in tiles["Correct labels"]
    changed = sum(row["given"] != row["corrected"] for row in rows)
    assert changed == result["num_changed"]
    assert f"{changed} of 120 given labels" in tiles["Labels changed"]
    decisions = Counter(row["decision"] for row in rows)
    assert f"{decisions['relabel']} to relabel, {decisions['review']} to review" in tiles["Suspects"]
    assert f"{100 * changed / 120:.1f}%" in tiles["Estimated noise"] and "95% interval" in tiles["Estimated noise"]


def test_the_interval_of_the_noise_holds_its_rate(page: Element, rows: list[dict[str, Any]]) -> None:
    note = next(li.text for li in page.all("ul", kind="tiles")[0].all("li") if "Estimated noise" in li.text)
    low, high = (float(word.rstrip("%")) for word in note.split("interval")[1].split(" to "))
    rate = sum(row["given"] != row["corrected"] for row in rows) / len(rows)
    spread = 100 * (rate * (1 - rate) / len(rows)) ** 0.5
    assert low < 100 * rate < high
    # A 95% interval of a share is about four standard errors wide.
    assert high - low == pytest.approx(3.92 * spread, rel=0.25)


def test_confused_pairs_are_counted(page: Element, rows: list[dict[str, Any]]) -> None:
    pairs = Counter((r["corrected_name"], r["given_name"]) for r in rows if r["given"] != r["corrected"])
    sizes = Counter(row["corrected_name"] for row in rows)
    shown = table_of(page, "Most confused pairs")
    assert [int(count) for _, _, count, _ in shown] == sorted(pairs.values(), reverse=True)
    for believed, given, count, share in shown:
        assert pairs[believed, given] == int(count)
        assert share.startswith(f"{100 * int(count) / sizes[believed]:.1f}% (")


def test_classes_are_counted_before_and_after(page: Element, rows: list[dict[str, Any]]) -> None:
    given, corrected = (Counter(row[key] for row in rows) for key in ("given_name", "corrected_name"))
    for name, before, after, change in table_of(page, "Examples of each class"):
        assert (int(before), int(after)) == (given[name], corrected[name])
        assert int(change.replace("−", "-")) == corrected[name] - given[name]


def test_each_threshold_touches_every_label_once(page: Element, rows: list[dict[str, Any]]) -> None:
    decisions = Counter(row["decision"] for row in rows)
    for option in ("--keep-quality", "--relabel-confidence"):
        table = table_of(page, option)
        assert all(sum(int(cell) for cell in cells) == len(rows) for _, *cells in table)
        chosen = next(cells for cells in table if "this run" in cells[0])
        assert [int(cell) for cell in chosen[1:]] == [decisions[name] for name in ("keep", "relabel", "review")]


def test_the_gallery_begins_with_the_most_suspect(page: Element, rows: list[dict[str, Any]]) -> None:
    suspects = sorted((r for r in rows if r["decision"] != "keep"), key=lambda r: (r["split"] != "train", r["quality"]))
    cards = page.all("ol", kind="gallery")[0].all("li")
    assert [card.all("p", kind="id")[0].text for card in cards] == [row["id"] for row in suspects[:24]]
    for card, row in zip(cards, suspects, strict=False):
        assert f"{100 * row['confidence']:.0f}% sure" in card.text
        assert f"quality {row['quality']:.2f}" in card.text
        assert row["decision"] in card.text and f"given {row['given_name']}" in card.text
        if row["given"] != row["corrected"]:
            assert f"corrected {row['corrected_name']}" in card.text
        if row["split"] == "train" and row["changed_at"] is not None:
            assert f"changed in epoch {row['changed_at'] + 1}" in card.text
        assert ("✓ found" in card.text) == (row["clean"] == row["corrected"])


def test_known_truth_measures_what_was_found(page: Element, rows: list[dict[str, Any]]) -> None:
    shown = {name: cells for name, *cells in table_of(page, "How well wrong labels were found")}
    wrong = {row["id"] for row in rows if row["given"] != row["clean"]}
    taken = {
        "Changed labels": {row["id"] for row in rows if row["given"] != row["corrected"]},
        "Suspects": {row["id"] for row in rows if row["decision"] != "keep"},
    }
    for name, found in taken.items():
        precision, recall = (100 * len(wrong & found) / len(base) for base in (found, wrong))
        f1 = 2 * precision * recall / (precision + recall)
        assert shown[name] == [f"{value:.1f}%" for value in (precision, recall, f1)]


def test_curves_end_where_the_history_ends(page: Element) -> None:
    words = " ".join(svg.attributes.get("aria-label", "") for svg in page.all("svg"))
    for text in ("test from 60% to 66%", "corrected from 70% to 76%", "changed from 0 to 18", "loss from 2 to 0.286"):
        assert text in words


def test_settings_environment_and_commands_are_listed(run: RunFolder, page: Element) -> None:
    facts = {d.all("dt")[0].text: d.all("dd")[0].text for dl in page.all("dl", kind="facts") for d in dl.all("div")}
    assert facts["batch_size"] == "64" and facts["nesterov"] == "false" and facts["python"] == "3.11.7"
    assert facts["until epoch 3"] == "commit abc, device H200", "what was different before the run went on here"
    assert facts["Phases"] == "backbone (epochs 1–2), labels (epochs 3–5), tuning (epochs 6–7)"
    assert facts["Examples"] == "100 trained on, 20 held out"
    commands = [code.text for code in page.all("ol", kind="steps")[0].all("code")]
    for verb in ("review", "labels", "predict"):
        assert any(command.startswith(f"pencil {verb} {run.path}") for command in commands)


def test_every_command_shown_exists(page: Element, capsys: pytest.CaptureFixture[str]) -> None:
    from pencil.cli import run as command_line

    for code in page.all("ol", kind="steps")[0].all("code"):
        _, verb, *rest = code.text.split()
        assert command_line([verb, "--help"]) == 0
        help_text = capsys.readouterr().out
        assert all(word in help_text for word in rest if word.startswith("--"))
