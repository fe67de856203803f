"""The benchmark of tables in files, at a small size."""

from pencil.bench import run_tables


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
