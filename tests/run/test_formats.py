"""A run of every released format opens, is used and goes on; one folder of each is kept in tests/data/run_format_N.

The folder of a new format is made by this version: a finished run and a stopped one on `rows.npz` (24 rows, 3 classes),
`pencil train rows.npz --epochs 1,2,1 --backbone mlp --set backbone_options.hidden=2 --set backbone_options.depth=1`.
"""

import shutil
from pathlib import Path

import pytest

import pencil
from pencil.errors import PencilError
from pencil.results.folder import FORMAT
from pencil.results.read import read_run
from pencil.run import predict_run

KEPT = Path(__file__).parents[1] / "data"
FORMATS = range(1, FORMAT + 1)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A copy of a format's folder, as working folder."""
    copy = shutil.copytree(KEPT / f"run_format_{request.param}", tmp_path / "kept")
    monkeypatch.chdir(copy)
    return Path(copy)


@pytest.mark.parametrize("kept", FORMATS, indirect=True)
def test_a_finished_run_is_read_and_predicts(kept: Path) -> None:
    run = read_run(kept / "finished")
    assert run.status.state == "finished" and run.classes == ("0", "1", "2")
    assert run.labels.num_rows == 24 and len(run.history) == 4 and run.distributions.shape == (24, 3)
    assert run.result["num_examples"] == run.split["train"]
    assert predict_run(kept / "finished", "rows.npz").probabilities.shape == (24, 3)


@pytest.mark.parametrize("kept", FORMATS, indirect=True)
def test_a_stopped_run_goes_on_to_the_same_labels(kept: Path) -> None:
    result = pencil.fit(out=kept / "stopped", resume=True)
    assert len(result.history) == 4
    # Labels that were learned; what is believed of held-out ones is no part of the training.
    learned = [
        [(row["id"], row["corrected"]) for row in labels.to_pylist() if row["split"] == "train"]
        for labels in (result.labels, read_run(kept / "finished").labels)
    ]
    assert learned[0] == learned[1] and len(learned[0]) > 10


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    folder = shutil.copytree(KEPT / f"run_format_{FORMAT}" / "finished", tmp_path / "run")
    status = folder / "status.json"
    status.write_text(status.read_text().replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}'))
    with pytest.raises(PencilError, match=rf"newer pencil \(format {FORMAT + 1}; .*pip install \. in a newer copy"):
        read_run(folder)
