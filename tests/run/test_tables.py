"""A whole run with each kind of table."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pencil
from pencil.run.finished import label_rows
from pencil.run.planning.plan import Plan
from pencil.run.train import Interrupted
from pencil.run.training.session import Silent
from pencil.table import MappedTable


class _Stopping(Silent):
    """Asks to stop at the first step of label learning."""

    def stepped(self, epoch: int, step: int, steps: int) -> None:
        if (epoch, step) == (1, 1):
            os.kill(os.getpid(), signal.SIGINT)


def _hundred_classes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(100, 16)).astype(np.float32) * 3
    clean = np.repeat(np.arange(100), 12)
    x = centres[clean] + rng.normal(size=(1200, 16)).astype(np.float32)
    given = np.where(rng.random(1200) < 0.3, rng.integers(0, 100, 1200), clean)
    return x, given, clean


@pytest.mark.slow
def test_the_strongest_classes_correct_as_many_labels_as_all_of_them() -> None:
    x, given, clean = _hundred_classes()
    dataset = pencil.data.from_arrays(x, given, clean=clean)
    results = {
        table: pencil.fit(
            dataset, epochs=[10, 16, 3], settings={"hardware": {"table": table, "threads": 1}}, held_out=0.0
        )
        for table in ("dense", "top")
    }
    accuracy = {table: result.summary["label_accuracy"] for table, result in results.items()}
    assert accuracy["dense"]["corrected"] > accuracy["dense"]["given"] + 15
    assert abs(accuracy["dense"]["corrected"] - accuracy["top"]["corrected"]) <= 0.5


def test_large_distributions_are_written_as_their_strongest_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    x, given, _ = _hundred_classes()
    settings = {"hardware": {"table": "top", "threads": 1}, "options": {"settle": False}}
    plain = pencil.fit(x, given, epochs=[1, 1, 0], settings=settings)
    monkeypatch.setattr(label_rows, "DENSE_BYTES", 1000)
    cut = pencil.fit(x, given, epochs=[1, 1, 0], settings=settings)
    assert cut.label_distributions.shape == plain.label_distributions.shape == (1200, 100)
    # Held-out examples have the network's prediction, whose tail is cut; learned labels have sixteen classes anyway.
    learned = np.asarray(cut.labels["split"]) == "train"
    assert np.allclose(cut.label_distributions[learned], plain.label_distributions[learned], atol=1e-5)
    assert np.allclose(cut.label_distributions.max(1), plain.label_distributions.max(1))
    assert cut.labels.equals(plain.labels)


def test_a_dense_table_is_chosen_where_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    from pencil.run.training import example_table
    from pencil.run.training.machine import choose_machine
    from pencil.table import ExampleTable, TopTable

    x, given, _ = _hundred_classes()
    planned: Plan = build_plan(x, given)
    device = choose_machine(planned.settings.hardware).device
    assert example_table.table_kind(planned, device) is ExampleTable
    monkeypatch.setattr(example_table, "free_memory", lambda device: 1_000_000)
    assert example_table.table_kind(planned, device) is MappedTable
    monkeypatch.setattr(example_table, "MANY_CLASSES", 100)
    assert example_table.table_kind(planned, device) is TopTable


def build_plan(x: np.ndarray, given: np.ndarray) -> Plan:
    from pencil.run import plan

    return plan((x, given), {"hardware": {"threads": 1}})


def test_a_table_in_a_file_gives_the_dense_run_to_the_bit(tmp_path: Path) -> None:
    x, given, clean = _hundred_classes()
    dataset = pencil.data.from_arrays(x, given, clean=clean)
    runs = {
        table: pencil.fit(
            dataset,
            out=tmp_path / table,
            epochs=[2, 12, 2],
            settings={
                "hardware": {"table": table, "threads": 1},
                "options": {"label_step": "2.0"},
                # Labels in a file are not guarded.
                "teaching": {"guard": False},
            },
        )
        for table in ("dense", "mapped")
    }
    dense, mapped = runs["dense"], runs["mapped"]
    assert (np.asarray(dense.labels["num_changes"]) > 0).sum() > 50, "labels must really move"
    assert np.array_equal(dense.label_distributions, mapped.label_distributions)
    assert dense.labels["num_changes"].equals(mapped.labels["num_changes"])
    written = (tmp_path / "mapped/table/label_logits.bin").stat()
    assert written.st_size == 1080 * 100 * 4


def test_soft_labels_are_refused_for_a_table_in_a_file() -> None:
    x, given, _ = _hundred_classes()
    soft = np.eye(100, dtype=np.float32)[given] * 0.9 + 0.001
    with pytest.raises(pencil.PencilError, match="soft labels and votes need a table in memory"):
        pencil.fit(x, soft, epochs=[1, 1, 0], settings={"hardware": {"table": "mapped"}})


@pytest.mark.parametrize("table", ["mapped", "top"])
def test_what_a_table_cannot_keep_is_refused_before_anything_is_written(table: str, tmp_path: Path) -> None:
    x, given, _ = _hundred_classes()
    how: dict[str, Any] = {"method": "joint_optimization", "epochs": [1, 1, 1], "out": tmp_path / "run"}
    with pytest.raises(pencil.PencilError, match=r'use settings=\{"hardware": \{"table": "dense"\}\}'):
        pencil.fit(x, given, settings={"hardware": {"table": table}}, **how)
    assert not (tmp_path / "run").exists()


def test_a_run_goes_on_with_the_table_it_has_where_less_memory_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, given, _ = _hundred_classes()
    hardware: dict[str, Any] = {"hardware": {"device": "cpu"}}
    with pytest.raises(Interrupted):
        pencil.fit(x, given, out=tmp_path / "run", epochs=[1, 2, 1], settings=hardware, progress=_Stopping())
    monkeypatch.setattr("pencil.run.training.example_table.free_memory", lambda device: 0)
    with pytest.raises(pencil.PencilError, match=r"another kind of table \(dense\) than hardware.table is now \(top\)"):
        pencil.fit(x, given, out=tmp_path / "run", resume=True, settings={"hardware": {"table": "top"}})
    assert len(pencil.fit(x, given, out=tmp_path / "run", resume=True).history) == 4


def test_labels_in_a_file_are_read_to_where_the_batches_are(tmp_path: Path) -> None:
    table = MappedTable.start(torch.tensor([1, 0, 2]), 3, scale=10.0, folder=tmp_path, batch_size=2)
    assert table.distributions(slice(1, 3)).argmax(-1).tolist() == [0, 2]
    table.incoming = table.incoming.to("meta")
    assert table.distributions().device.type == "meta"
