"""The comparison with cleanlab, whole, on a tiny CIFAR-10: records, resuming, and the page made of them."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PER_BATCH = 40
NEEDED = ("--device", "cpu", "--pencil-epochs", "1", "1", "1", "--held-out", "0.2")
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
    benchmark.main([cell, *NEEDED, *network, *places, "--records", str(cifar / "records"), *more])
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
    assert record["systems"]["pencil"]["epochs"] == 3
    assert all(figures["seconds"] > 0 for figures in record["systems"].values())
    trained = capsys.readouterr().out
    assert trained.count("fold") == 5 and trained.count("PENCIL") == 2

    (cifar / "work" / "cifar10-human-aggre-seed-0" / "cleanlab-1-fold-3.npz").unlink()
    again = run(benchmark, cifar, "cifar10-human-aggre", "--epochs", "1", "4")
    trained = capsys.readouterr().out
    assert trained.count("fold") == 6 and trained.count("PENCIL") == 0, "only what is missing is trained"
    assert all(again["systems"][name] == record["systems"][name] for name in ("pencil", "pencil, fast"))
    tried = {rival["epochs"]: rival for rival in again["cleanlab_lengths"]}
    assert set(tried) == {1, 4}
    assert again["systems"]["cleanlab"]["f1"] == max(rival["f1"] for rival in tried.values())
    assert tried[4]["auprc"] > 0.5, "the images are easy; one fifth of the labels is wrong"
    page = importlib.import_module("label_errors_page").page([again])
    assert page.count("| cleanlab |") == page.count("| pencil, fast |") == 1 and page.count("of cleanlab's time") == 2
    assert "Digits has not been measured" in page and "CIFAR-10 has" not in page

    with pytest.raises(SystemExit, match="other settings"):
        run(benchmark, cifar, "cifar10-human-aggre", "--held-out", "0.3")
    monkeypatch.setenv("PENCIL_COMMIT", "0" * 40)
    with pytest.raises(SystemExit, match="another commit"):
        run(benchmark, cifar, "cifar10-human-aggre")


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
