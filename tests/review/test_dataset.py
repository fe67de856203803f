"""The run's data is found again, or one line says how; code is run only where the user names it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pencil.config import DataSettings
from pencil.data import from_arrays, from_torch
from pencil.data.located import Located, read_dataset
from pencil.errors import PencilError
from pencil.review.desk import open_desk

MARKER = """
from pathlib import Path
Path({place!r}).touch()
def read(request):
    raise SystemExit
"""


def test_data_that_moved_is_named_with_the_remedy(make: Callable[..., Path], tmp_path: Path) -> None:
    run = make()
    shutil.move(run.parent / "run-data.npz", tmp_path / "run-data.npz")
    with pytest.raises(PencilError, match="root DIR"):
        open_desk(run)
    for place in ({"root": str(tmp_path)}, {"source": str(tmp_path / "run-data.npz")}):
        desk = open_desk(run, **place)
        assert desk.kind == "images" and len(desk.pictures.png(0, thumbnail=True)) > 50
        desk.close()


def test_data_is_found_from_any_folder(make: Callable[..., Path]) -> None:
    run = make(source="run-data.npz")
    with pytest.raises(PencilError, match="root DIR"):
        open_desk(run)
    status = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(json.dumps(status | {"started_in": [".."]}))
    open_desk(run).close()


def test_other_data_is_refused(make: Callable[..., Path]) -> None:
    other = make(ids=[f"other-{number}" for number in range(30)]).parent / "run-data.npz"
    with pytest.raises(PencilError, match=r'30 of the run.s 30 examples .*"picture-00000"'):
        open_desk(make(), source=str(other))


def test_code_that_the_run_names_is_not_run(make: Callable[..., Path], tmp_path: Path) -> None:
    code = tmp_path / "source.py"
    code.write_text(MARKER.format(place=str(tmp_path / "ran")))
    with pytest.raises(PencilError, match=r"give it again: source .*source\.py:read"):
        open_desk(make(source=f"{code}:read"))
    assert not (tmp_path / "ran").exists()


def test_data_given_in_python_has_a_remedy() -> None:
    with pytest.raises(PencilError, match=r"numpy\.savez"):
        read_dataset(DataSettings(source="<tuple>"))


def test_held_out_examples_are_found_too() -> None:
    import numpy as np

    x = np.arange(40, dtype=np.uint8).reshape(10, 2, 2)
    dataset = from_arrays(x, np.arange(10) % 2, ids=[f"e{n}" for n in range(10)])
    located = Located(dataset, ["e7", "e0"])
    assert located.read(0)[..., 0].tolist() == x[7].tolist() and located.read(1)[..., 0].tolist() == x[0].tolist()


def test_a_labels_file_that_no_run_wrote_is_refused(make: Callable[..., Path]) -> None:
    run = make()
    (run / "classes.json").write_text('["ant"]')
    with pytest.raises(PencilError, match="damaged"):
        open_desk(run)


def test_examples_known_by_their_places_are_not_looked_for_in_data_that_grew() -> None:
    rows, ids = [([float(place)], place % 2) for place in range(4)], ["0", "1", "2"]
    assert len(Located(from_torch(rows[:3]), ids, whole=True)) == 3
    with pytest.raises(PencilError, match=r"had 3 examples, known by their places alone, and its data now has 4"):
        Located(from_torch(rows), ids, whole=True)
    assert len(Located(from_torch(rows), ids[:1])) == 1
    assert len(Located(from_torch(rows, ids=["0", "1", "2", "new"]), ids, whole=True)) == 3
