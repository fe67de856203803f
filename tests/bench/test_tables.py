"""The benchmark of tables in files, at a small size."""

import pytest

from pencil.bench import run_tables, tables


def test_labels_in_a_file_are_measured_against_labels_in_memory() -> None:
    lines: list[str] = []
    report = run_tables(
        "small_cnn", device="cpu", batch_size=8, examples=3000, classes=50, side=32, seconds=0.2, tell=lines.append
    )
    assert 0 < report.ratios["labels in a file against memory"] < 5
    assert report.megabytes["the same in memory"] == 3000 * 50 * 4 / 2**20
    # Only rows that were learned take room.
    assert 0 < report.megabytes["file of labels, on disk"] < report.megabytes["the same in memory"]
    assert report.record()["images_per_second"] > 0


def test_both_are_measured_at_the_same_batch_however_large_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Noting(tables.Runner):
        def run(self, seconds: float) -> float:
            sizes.append(self.engine.batch_size)
            return super().run(seconds)

    monkeypatch.setattr(tables, "Runner", Noting)
    run_tables(
        "mlp", device="cpu", batch_size=tables.POOL + 2, examples=1000, classes=3, side=32, seconds=0.01, tell=str
    )
    assert set(sizes) == {tables.POOL + 2}
