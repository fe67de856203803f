"""A run as other programs see it."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from pencil.errors import PencilError
from pencil.results.arrays import save_weights
from pencil.results.distributions import write_distributions
from pencil.results.documents import write_classes, write_json, write_split
from pencil.results.folder import RunFolder
from pencil.results.history import History
from pencil.results.labels_table import build_labels, write_labels
from pencil.results.read import read_run

RESULT = {
    "method": "pencil", "dataset": "digits", "seed": 0, "num_examples": 3, "num_classes": 2, "num_changed": 1,
    "num_suspect": 1, "estimated_noise_rate": 33.3, "seconds": 1.5, "images_per_second": 2.0, "environment": {},
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A finished run of two examples."""
    folder = RunFolder.create(tmp_path / "run")
    numbers = np.array([0, 1])
    floats = np.array([0.75, 0.75])
    text = ["a", "b"]
    labels = build_labels(
        class_names=["cat", "dog"], ids=text, given=numbers, corrected=numbers, confidence=floats, entropy=floats,
        quality=floats, network=numbers, changed_at=-1 - numbers, num_changes=0 * numbers, decision=["keep", "keep"],
        split=["train", "train"],
    )  # fmt: skip
    write_labels(folder.labels, labels)
    write_distributions(folder.label_distributions, np.array([[0.75, 0.25], [0.25, 0.75]]))
    write_json(folder.result, RESULT)
    History(folder.history).append({"epoch": 0})
    write_classes(folder.classes, ["cat", "dog"])
    write_json(folder.preprocessing, {"kind": "rows"})
    write_split(folder.split, train=2, held_out=0, test=0, fingerprint="f", inputs="i", seed=0)
    save_weights(folder.model, {"w": np.ones(3, dtype=np.float32)})
    folder.set_state("finished")
    return folder


def test_every_part_of_a_finished_run_comes_back(run: RunFolder) -> None:
    read = read_run(str(run.path))
    assert read.status.state == "finished"
    assert read.result == RESULT and read.history == [{"epoch": 0}]
    assert read.labels["given_name"].to_pylist() == ["cat", "dog"]
    assert read.distributions.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert read.distribution_rows(1, 2).tolist() == [[0.25, 0.75]]
    assert read.classes == ("cat", "dog") and read.preprocessing == {"kind": "rows"}
    assert read.split["train"] == 2 and read.weights()["w"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("result.json", "result"),
        ("labels.parquet", "labels"),
        ("label_distributions.safetensors", "distributions"),
        ("classes.json", "classes"),
        ("preprocessing.json", "preprocessing"),
        ("split.json", "split"),
    ],
)
def test_a_missing_or_damaged_file_is_named(run: RunFolder, file: str, part: str) -> None:
    class Trap:
        """Runs code when it is unpickled."""

        def __reduce__(self) -> tuple[object, ...]:
            return (pytest.fail, ("a run folder's content was unpickled",))

    (run.path / file).write_bytes(pickle.dumps(Trap()))
    with pytest.raises(PencilError, match=f"{file} is damaged"):
        getattr(read_run(run.path), part)
    (run.path / file).unlink()
    with pytest.raises(PencilError, match=f"{file} does not exist"):
        getattr(read_run(run.path), part)


def test_a_run_that_has_just_begun_can_be_watched(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run")
    read = read_run(tmp_path / "run")
    assert read.status.state == "running" and read.history == []
    with pytest.raises(PencilError, match=r"result.json does not exist"):
        _ = read.result


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=r"is not a run folder"):
        read_run(tmp_path)
