"""The comparison with cleanlab, whole, on a tiny CIFAR-10: records, resuming, and the page made of them."""

import importlib
import json
import re
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[2]
PER_BATCH = 40
NEEDED = ("--device", "cpu", "--held-out", "0.2")
SHORT = ("--recipes", "auto:1,1,1", "fast:1,1,1")
TITLES = {"pencil, 1 + 1 + 1 epochs", "pencil, fast, 1 + 1 + 1 epochs"}
NETWORK = """
from torch import nn

def build(spec, num_classes):
    return nn.Sequential(nn.AdaptiveAvgPool2d((4, 1)), nn.Flatten(), nn.BatchNorm1d(12), nn.Linear(12, num_classes))
"""


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("cleanlab")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("label_errors")


@pytest.fixture
def cifar(tmp_path: Path) -> Path:
    """A CIFAR-10 of 200 images whose class is the colour of a stripe, with a network and labels by people."""
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    rng = np.random.default_rng(0)
    labels = np.arange(PER_BATCH) % 10
    for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
        images = rng.integers(0, 100, (PER_BATCH, 3, 4, 256))
        images[np.arange(PER_BATCH), labels % 3, labels // 3] += 150
        rows = np.concatenate([labels[:, None], images.reshape(PER_BATCH, -1)], axis=1).astype(np.uint8)
        (folder / f"{name}.bin").write_bytes(rows.tobytes())
    (folder / "batches.meta.txt").write_text("\n".join(f"class{n}" for n in range(10)))
    (tmp_path / "network.py").write_text(NETWORK)
    clean = np.tile(labels, 5)
    given = np.where(rng.random(len(clean)) < 0.2, (clean + 1) % 10, clean)
    np.savez(tmp_path / "people.npz", clean_label=clean, aggre_label=given, random_label1=(given + 1) % 10)
    return tmp_path


def run(benchmark: ModuleType, cifar: Path, cell: str, *more: str) -> dict[str, Any]:
    places = ("--root", str(cifar), "--human-labels", str(cifar / "people.npz"), "--work", str(cifar / "work"))
    network = ("--backbone", f"{cifar / 'network.py'}:build")
    benchmark.main([cell, *NEEDED, *SHORT, *network, *places, "--records", str(cifar / "records"), *more])
    record: dict[str, Any] = json.loads((cifar / "records" / f"{cell}-seed-0.json").read_text(encoding="utf-8"))
    return record


def test_a_cell_is_measured_goes_on_and_takes_more_lengths(
    benchmark: ModuleType, cifar: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENCIL_COMMIT", "abc")
    record = run(benchmark, cifar, "cifar10-human-aggre", "--epochs", "1")
    people = np.load(cifar / "people.npz")
    right = 100 * np.mean(people["aggre_label"] == people["clean_label"])
    assert record["given_label_accuracy"] == pytest.approx(right, abs=0.01)
    assert (record["noise"], record["num_examples"], record["environment"]["commit"]) == ("aggre_label", 200, "abc")
    assert record["environment"]["cleanlab"] and str(cifar) not in json.dumps(record), "no place of this machine"
    assert set(record["systems"]) == {*TITLES, "cleanlab"}
    assert all(record["systems"][title]["epochs"] == 3 for title in TITLES)
    assert "--recipes auto:1,1,1 fast:1,1,1 " in record["command"]
    assert all(figures["seconds"] > 0 for figures in record["systems"].values())
    assert record["compiled_before"] is False
    trained = capsys.readouterr().out
    assert trained.count("fold") == 5 and trained.count("PENCIL") == 2 and "compiled, not counted" not in trained

    (cifar / "work" / "cifar10-human-aggre-seed-0" / "cleanlab-1-fold-3.npz").unlink()
    again = run(benchmark, cifar, "cifar10-human-aggre", "--epochs", "1", "20")
    trained = capsys.readouterr().out
    assert trained.count("fold") == 6 and trained.count("PENCIL") == 0, "only what is missing is trained"
    assert all(again["systems"][name] == record["systems"][name] for name in TITLES)
    tried = {rival["epochs"]: rival for rival in again["cleanlab_lengths"]}
    assert set(tried) == {1, 20}
    assert again["systems"]["cleanlab"]["f1"] == max(rival["f1"] for rival in tried.values())
    assert tried[20]["auprc"] > 0.5, "the images are easy; one fifth of the labels is wrong"
    page = importlib.import_module("label_errors_page").page([again])
    assert page.count("| cleanlab |") == 1 and page.count("of cleanlab's time") == 2
    assert all(page.count(f"| {name} |") == page.count(f", {name}: ") == 1 for name in TITLES)
    assert "Digits has not been measured" in page and "CIFAR-10 has" not in page
    assert "while the clock ran" not in page, "nothing is compiled on a CPU"

    more = run(benchmark, cifar, "cifar10-human-aggre", "--epochs", "1", "--recipes", "fast:1,1,1", "fast:1,2,1")
    trained = capsys.readouterr().out
    assert trained.count("fold") == 0 and trained.count("PENCIL") == 1 and "recipe fast:1,2,1: " in trained
    assert set(more["systems"]) == {"pencil, fast, 1 + 1 + 1 epochs", "pencil, fast, 1 + 2 + 1 epochs", "cleanlab"}
    assert more["systems"]["pencil, fast, 1 + 2 + 1 epochs"]["epochs"] == 4

    with pytest.raises(SystemExit, match="other settings"):
        run(benchmark, cifar, "cifar10-human-aggre", "--held-out", "0.3")
    monkeypatch.setenv("PENCIL_COMMIT", "0" * 40)
    with pytest.raises(SystemExit, match="another commit"):
        run(benchmark, cifar, "cifar10-human-aggre")


def test_on_a_gpu_what_is_timed_has_been_compiled_before(
    benchmark: ModuleType, cifar: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = importlib.import_module("label_errors_systems")
    monkeypatch.setattr(systems, "COMPILED", set())
    monkeypatch.setattr(systems, "choose_device", lambda name: torch.device("cuda"))
    folders = cifar / "folders"
    folders.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folders))
    cell, recipes = "cifar10-human-aggre", ("--recipes", "fast:1,1,1", "fast:1,2,1")
    record = run(benchmark, cifar, cell, "--epochs", "1", *recipes)
    said = [line.split(",")[0] for line in capsys.readouterr().out.splitlines()]
    assert said[:5] == ["compiled", "PENCIL", "PENCIL", "compiled", "cleanlab's network"]
    assert said.count("compiled") == 2 and record["compiled_before"] is True
    assert not list(folders.glob("pencil-*"))

    systems.COMPILED.clear()  # As in another process.
    run(benchmark, cifar, cell, "--epochs", "1", *recipes, "auto:1,1,1")
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("compiled")]
    assert said == ["compiled, not counted: cifar10, pencil, auto"], "nothing else is left to train"


def test_the_page_tells_what_was_compiled_when(benchmark: ModuleType) -> None:
    writer = importlib.import_module("label_errors_page")
    measures = ("auroc", "auprc", "precision", "recall", "f1", "label_accuracy", "epochs", "seconds")
    ours, theirs = dict.fromkeys(measures, 2.0), dict.fromkeys(measures, 1.0)
    old: dict[str, Any] = {"cell": "old", "dataset": "cifar10", "seed": 0, "given_label_accuracy": 60.0}
    old |= {"systems": {"pencil": ours, "cleanlab": theirs}, "cleanlab_by_epochs": {"1": 1.0}}
    old |= {"environment": {"device": "NVIDIA H200"}}
    new = old | {"cell": "new", "compiled_before": True}
    again = new | {"seed": 1, "systems": {"pencil": ours, "pencil, fast": ours, "cleanlab": ours}}
    page = writer.page([old, new, again])
    assert re.search("compiled before the clock started.*: new\\.\n", page)
    assert re.search("Compiled while the clock ran.* PENCIL.*: old\\.\n", page)
    assert "| new, seeds 0, 1 | pencil |" in page and "| new, seed 1 | pencil, fast |" in page
    assert "new, seeds 0, 1, pencil: better in" in page
    assert "new, seed 1, pencil, fast: not better in" in page, "compared with cleanlab on the same seeds"


def test_recipes_have_titles_of_their_own(benchmark: ModuleType) -> None:
    words = ["auto", "fast", "auto:10,16,4", "fast:10,16,4"]
    recipes = benchmark._arguments(["digits-symmetric-40", "--recipes", *words]).recipes
    assert [str(recipe) for recipe in recipes] == words
    assert [recipe.title for recipe in recipes] == [
        "pencil", "pencil, fast", "pencil, 10 + 16 + 4 epochs", "pencil, fast, 10 + 16 + 4 epochs",
    ]  # fmt: skip
    assert benchmark._arguments(["digits-symmetric-40"]).recipes == recipes[:2]


@pytest.mark.parametrize(
    "word", ["", "slow", "fast:", "fast:10", "fast:10,16", "fast:10,16,0", "fast:1,2,3,4", "auto:a,b,c"]
)
def test_no_other_recipe_is_taken(benchmark: ModuleType, capsys: pytest.CaptureFixture[str], word: str) -> None:
    with pytest.raises(SystemExit):
        benchmark.main(["digits-symmetric-40", "--recipes", "fast", word])
    last = capsys.readouterr().err.splitlines()[-1]
    assert f"argument --recipes: no recipe is {word!r}; give auto or fast" in last


def test_every_cell_names_data_that_exists(benchmark: ModuleType, cifar: Path) -> None:
    from pencil.config import DataSettings
    from pencil.data import load

    for name, cell in benchmark.CELLS.items():
        labels = f"{cifar / 'people.npz'}:{cell.human}" if cell.human else ""
        root = str(cifar) if cell.source == "cifar10" else ""
        made = load(DataSettings(source=cell.source, root=root, noise=cell.noise, labels=labels), seed=0).train
        assert made.clean is not None and (made.given != made.clean).any(), name


def test_people_s_labels_must_be_given(benchmark: ModuleType, cifar: Path) -> None:
    with pytest.raises(SystemExit, match="--human-labels FILE"):
        benchmark.main(["cifar10-human-random1", "--root", str(cifar), "--work", str(cifar / "work")])


def test_an_earlier_measurement_shows_lengths_that_were_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    lengths = importlib.import_module("label_errors_page").lengths
    record: dict[str, Any] = {
        "cell": "digits", "seed": 0, "cleanlab_by_epochs": {"16": 70.04, "8": 60.0},
        "systems": {"cleanlab": {"epochs": 16}},
    }  # fmt: skip
    assert "a longer training might do better" in lengths(record)
    line = lengths(record | {"cleanlab_before": {"by_epochs": {"24": 65.0, "16": 71.0}, "commit": "0123456789"}})
    assert line == (
        "- digits, seed 0: F1 60.0 after 8, 70.0 after 16 epochs."
        " Earlier, at commit 0123456: 71.0 after 16, 65.0 after 24 epochs."
    )
