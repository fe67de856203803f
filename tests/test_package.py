"""What is shipped: wheel and source archive build, install into an empty environment, and run."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path
from types import SimpleNamespace

import pytest

import pencil_labels

ROOT = Path(__file__).parents[1]
IMPORT_SECONDS = 0.3


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("pencil_labels-*.whl")
    return found


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"pencil", "pencil_labels"}
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    wanted = {name.removeprefix("src/") for name in tracked.split("\n") if name and (ROOT / name).exists()}
    assert {"pencil/py.typed", "pencil/report/page/report.css", "pencil/reproduce/paper_tables.toml"} <= names
    assert wanted <= names


def test_the_metadata_names_extras_licence_and_versions(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        fields = Parser().parsestr(archive.read(place).decode())
    assert fields["Name"] == "pencil-labels" and fields["License-Expression"] == "Apache-2.0"
    assert {"vision", "hf", "lightning", "docs"} <= set(fields.get_all("Provides-Extra", []))
    assert fields["Requires-Python"] == ">=3.11"


def test_the_source_archive_gives_the_same_wheel(built: Path, wheel: Path, tmp_path: Path) -> None:
    (source,) = built.glob("pencil_labels-*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    assert (folder / "tests" / "test_package.py").exists() and (folder / "LICENSE").exists()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "again")]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    again = tmp_path / "again" / wheel.name
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as two:
        assert {item.filename: item.CRC for item in one.infolist()} == {
            item.filename: item.CRC for item in two.infolist()
        }


def test_installed_into_an_empty_environment_it_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    """The environment holds the wheel alone; what it depends on is seen through a path, not installed again."""
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    python, command = environment / "bin" / "python", environment / "bin" / "pencil"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    (site,) = environment.glob("lib/python*/site-packages")
    # Named in a .pth file, a folder's own .pth files (the editable install of pencil) are not followed.
    (site / "dependencies.pth").write_text(next(path for path in sys.path if path.endswith("site-packages")))
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}

    def call(*arguments: object) -> str:
        ended = subprocess.run([*map(str, arguments)], cwd=tmp_path, env=known, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert str(site) in call(python, "-c", "import pencil; print(pencil.__file__)")
    table = {line.split("  ")[0]: line for line in call(command, "demo", "--quick", "--out", "demo").splitlines()}
    assert table["PENCIL"].count("%") == 4
    assert (tmp_path / "demo" / "pencil" / "report.html").exists()


def test_importing_is_quick_and_needs_no_torch() -> None:
    code = (
        "import sys, time; start = time.perf_counter(); import pencil; seconds = time.perf_counter() - start;"
        "print(seconds, 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    told = [run.stdout.split() for run in runs]
    assert all(words[1:] == ["False", "False"] for words in told)
    assert min(float(words[0]) for words in told) < IMPORT_SECONDS


def _command(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    known = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "pencil_labels", *arguments]
    return subprocess.run(command, cwd=folder.parent, env=known, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("installed", [True, False])
def test_a_stranger_called_pencil_is_named(tmp_path: Path, installed: bool) -> None:
    folder = tmp_path / "site"
    (folder / "pencil").mkdir(parents=True)
    (folder / "pencil" / "__init__.py").write_text("__version__ = '7'\n")
    if installed:
        _install_stranger(folder)
    ended = _command(folder, "--version")
    assert ended.returncode == 2 and ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert str(folder / "pencil" / "__init__.py") in line
    assert ("pip uninstall pencil" if installed else "PYTHONPATH") in line


def test_a_stranger_beside_us_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    _install_stranger(folder)
    ended = _command(folder, "--version")
    assert ended.returncode == 0 and ended.stdout.startswith("pencil ")
    (line,) = ended.stderr.splitlines()
    assert "pencil 7" in line and "pip uninstall pencil" in line


def _install_stranger(folder: Path) -> None:
    record = folder / "pencil-7.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: pencil\nVersion: 7\n")
    (record / "top_level.txt").write_text("pencil\n")


def test_what_installs_it_anew_asks_no_package_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pencil.DISTRIBUTION", "another")
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: {"pencil": ["pencil"]})
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: SimpleNamespace(version="1.0"))
    for line in (pencil_labels.find_stranger(), pencil_labels.find_lodger()):
        assert "pip uninstall pencil; " in line
        assert line.endswith("in the repository of pencil-labels: pip install --force-reinstall --no-deps .")
