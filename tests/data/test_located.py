"""A run's data is found again from any folder."""

from pathlib import Path

import pytest

from pencil.config import DataSettings
from pencil.data.located import from_home, relocated


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder that a run was started in, with one file and one folder of each name below."""
    home = tmp_path / "home"
    for folder in ("photos", "digits", "hf", "saved"):
        (home / folder).mkdir(parents=True)
    for file in ("mine.py", "labels.npz", "t.csv"):
        (home / file).write_text("")
    return home


def test_paths_lead_to_where_the_run_was_started(home: Path) -> None:
    own = DataSettings(source="photos", root="saved", labels="labels.npz:noisy")
    found = from_home(own, [home.parent / "gone", home])
    assert (found.source, found.root) == (str(home / "photos"), str(home / "saved"))
    assert found.labels == str(home / "labels.npz:noisy")
    assert from_home(DataSettings(source="hf:saved"), [home]).source == f"hf:{home / 'saved'}"
    assert from_home(DataSettings(noise="matrix:t.csv"), [home]).noise == f"matrix:{home / 't.csv'}"


@pytest.mark.parametrize("source", ["digits", "mine.py:rows", "hf:other", "<tuple>", "missing", "/photos", ""])
def test_what_is_no_path_there_stays(home: Path, source: str) -> None:
    assert from_home(DataSettings(source=source), [home]).source == source


@pytest.mark.parametrize("noise", ["symmetric:0.4", "mine.py:model:t.csv", "matrix:", "matrix:missing.csv", ""])
def test_noise_of_no_file_there_stays(home: Path, noise: str) -> None:
    assert from_home(DataSettings(noise=noise), [home]).noise == noise


def test_paths_stay_as_they_are_where_the_run_was_started(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = DataSettings(source="photos", labels="labels.npz")
    assert from_home(own, []) == own
    monkeypatch.chdir(home)
    assert from_home(own, [Path("saved/.."), home]) == own


@pytest.mark.parametrize("source", ["photos", "hf:saved", "t.csv", "gone"])
@pytest.mark.parametrize("there", [True, False])
def test_data_is_read_where_the_user_says_it_is_now(
    home: Path, monkeypatch: pytest.MonkeyPatch, source: str, there: bool
) -> None:
    library, name = source.rpartition(":")[0], source.removeprefix("hf:")
    (home / "new").mkdir()
    (home / "new" / name).write_text("") if name == "t.csv" else (home / "new" / name).mkdir()
    monkeypatch.chdir(home if there else home.parent)
    own = DataSettings(source=source)
    wanted = f"{library}:{home / 'new' / name}" if library else str(home / "new" / name)
    assert relocated(own, "", str(home / "new")).source == wanted, "the folder that it lies in"
    assert relocated(own, "", str(home / "new" / name)).source == wanted, "its own place"


def test_a_table_stays_where_its_images_alone_have_moved(home: Path) -> None:
    own = DataSettings(source=str(home / "t.csv"))
    assert relocated(own, "", str(home / "photos")) == DataSettings(source=own.source, root=str(home / "photos"))
    assert relocated(DataSettings(source="digits"), "", "photos") == DataSettings(source="digits", root="photos")
