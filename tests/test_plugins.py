"""Plug-ins by name, by file, and what is said when there is none."""

from pathlib import Path

import pytest

from pencil import methods, plugins
from pencil.errors import PencilError


def test_the_file_name_is_the_name(tmp_path: Path) -> None:
    found = plugins.names("pencil.methods")
    assert {"pencil", "cross_entropy"} <= set(found)
    assert found == sorted(found) and not [name for name in found if name.startswith("_")]
    assert plugins.find("pencil.methods", "pencil", "METHOD", kind="method").__name__ == "Pencil"


def test_unknown_names_get_the_nearest_one() -> None:
    with pytest.raises(PencilError, match=r'there is no method "pensil"\. Did you mean "pencil"\?'):
        plugins.find("pencil.methods", "pensil", "METHOD", kind="method")
    with pytest.raises(PencilError, match=r'no method "qqqq"\. Known: .*cross_entropy.*pencil'):
        plugins.find("pencil.methods", "qqqq", "METHOD", kind="method")


@pytest.mark.parametrize("name", ["_contract", "__init__", "../errors", "pencil.methods.pencil", ""])
def test_what_is_no_plug_in_is_not_imported(name: str) -> None:
    with pytest.raises(PencilError, match="there is no method"):
        plugins.find("pencil.methods", name, "METHOD", kind="method")


def test_a_users_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("thing = 42\n")
    assert plugins.find("pencil.methods", f"{file}:thing", "METHOD", kind="method") == 42
    with pytest.raises(PencilError, match=r'mine\.py defines no method called thin\. Did you mean "thing"'):
        plugins.find("pencil.methods", f"{file}:thin", "METHOD", kind="method")


def test_a_file_alone_says_how_its_part_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("thing = 42\n")
    for kind in ("method", "backbone"):
        with pytest.raises(PencilError, match=rf"mine\.py names a file alone; .* the {kind}, as \S*/mine\.py:name\.$"):
            plugins.find(f"pencil.{kind}s", f"{tmp_path}/mine.py", "METHOD", kind=kind)


def test_what_a_file_imports_is_none_of_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import json\nfrom pathlib import Path\nclass Own:\n    pass\nbuild, up = Own(), str.upper\n")
    for wrong in ("nope", "jso", "Pat"):
        with pytest.raises(PencilError, match=rf"mine\.py defines no backbone called {wrong}\. Known: Own, build\.$"):
            plugins.find("pencil.backbones", f"{file}:{wrong}", "build", kind="backbone")


def test_two_files_of_one_name_are_two_plug_ins(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(f"class Thing:\n    where = '{folder}'\n")
    things = [plugins.find("pencil.methods", f"{tmp_path}/{f}/mine.py:Thing", "METHOD", kind="method") for f in "ab"]
    assert [thing.where for thing in things] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"mine\.py does not exist; give the method as path/to/file\.py:name"),
        ("def broken(:\n", r"mine\.py cannot be imported: SyntaxError"),
        ("import no_such_module_anywhere\n", r"cannot be imported: ModuleNotFoundError: .*no_such_module_anywhere"),
        ("1 / 0\n", r"cannot be imported: ZeroDivisionError: division by zero"),
        (
            "raise SystemExit(2)  # As a script does that finds its arguments wrong.\n",
            r"cannot be imported: SystemExit: 2",
        ),
    ],
)
def test_broken_files_are_named(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(PencilError, match=message) as e:
        plugins.find("pencil.methods", f"{file}:x", "METHOD", kind="method")
    assert "\n" not in str(e.value)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that offers two methods, of which neither can be imported."""
    folder = tmp_path / "offering-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[pencil.methods]\ngone = offering:Gone\nunmade = unmade_offering:X\n")
    (tmp_path / "offering.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", r"the method gone of an installed package, offering:Gone, cannot be imported: AttributeError: .*Gone"),
        ("unmade", r"unmade_offering:X, cannot be imported: ModuleNotFoundError: .*; mend that package, or name anoth"),
        ("unmad", r'there is no method "unmad"\. Did you mean "unmade"\?'),
    ],
)
def test_what_an_installed_package_offers_is_known_and_blamed(name: str, message: str) -> None:
    with pytest.raises(PencilError, match=message) as e:
        plugins.find("pencil.methods", name, "METHOD", kind="method")
    assert "\n" not in str(e.value)


METHOD_FILE = """
from __future__ import annotations

from dataclasses import dataclass

from pencil.losses import cross_entropy
from pencil.methods import Method
from pencil.table import Fixed
from pencil.types import Batch, Phase, Terms


@dataclass(frozen=True, kw_only=True)
class Options:
    factor: float = 1.0


class Scaled(Method):
    Options = Options

    def phases(self, settings):
        setting = self.phase_setting(settings, "training")
        return (Phase("training", setting.epochs, setting.lr, Fixed()),)

    def loss(self, batch: Batch) -> Terms:
        return Terms({"loss": self.options.factor * cross_entropy(batch.logits, batch.given)})


def not_a_method():
    return 3
"""


def test_a_users_method_has_checked_options_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(METHOD_FILE)
    assert methods.create(f"{file}:Scaled", {"factor": 2}, 3).options.factor == 2.0
    with pytest.raises(PencilError, match=r'no setting "options\.factr"\. Did you mean "factor"'):
        methods.create(f"{file}:Scaled", {"factr": 2}, 3)


def test_a_method_without_options_says_so() -> None:
    with pytest.raises(PencilError, match=r'no setting "options\.q"\. There are no options here; leave it out\.$'):
        methods.create("mse", {"q": 0.5}, 3)


def test_a_users_method_must_be_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(METHOD_FILE)
    with pytest.raises(PencilError, match=r"mine\.py:not_a_method is no pencil\.methods\.Method"):
        methods.create(f"{file}:not_a_method", {}, 3)


@pytest.mark.parametrize("rest", ["lazy", "lazy:0.3", "lazy:matrix.csv"])
def test_a_users_file_is_known_whatever_argument_follows(tmp_path: Path, rest: str) -> None:
    file = tmp_path / "lazy.py"
    file.write_text("first = 1")
    [before] = plugins.digests([f"{file}:{rest}"]).values()
    file.write_text("second = 2")
    assert plugins.digests([f"{file}:{rest}"]) != {f"{file}:{rest}": before}
