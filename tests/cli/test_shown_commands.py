"""Commands that are printed work when they are copied, whatever the paths in them are called."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from pencil.config import DataSettings
from pencil.data.located import read_dataset
from pencil.errors import PencilError
from pencil.results.folder import RunFolder
from pencil.run.fit import Interrupted
from pencil.run.refuse import refuse_unnamed_code

from .conftest import QUICK, Command, write_rows

ODD = Path("my runs/it's one")


@pytest.fixture
def odd_run(finished_quickly: Path, place: Path) -> Path:
    """A run, and data, under names that a shell would take apart."""
    shutil.copytree(finished_quickly, ODD)
    write_rows(place / "my rows.npz")
    return ODD


def command_in(text: str, ends: str = "$") -> list[str]:
    """Return the words of the command that ends a text."""
    found = re.search(rf"pencil (?:train|report|review|labels|predict) .*?(?={ends})", text)
    assert found, text
    return shlex.split(found[0])[1:]


def stop(*args: object, **named: object) -> NoReturn:
    raise KeyboardInterrupt


def fail(*args: object, **named: object) -> NoReturn:
    raise ZeroDivisionError("no luck")


def test_the_summary(pencil: Command, odd_run: Path) -> None:
    ended = pencil("train", "my rows.npz", "--out", "my runs/two", *QUICK)
    shown = next(line for line in ended.out.splitlines() if line.startswith("next"))
    assert command_in(shown, ends=", or") == ["review", "my runs/two"]
    words = command_in(shown.partition(", or: ")[2])
    assert words == ["predict", "my runs/two", "my rows.npz"]
    assert pencil(*words).code == 0


def test_labels(pencil: Command, odd_run: Path) -> None:
    words = command_in(pencil("labels", odd_run).out.strip())
    assert words == ["labels", str(odd_run), "--apply"] and pencil(*words).code == 0


def test_the_end_of_a_review(pencil: Command, odd_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pencil.review.serve.serve", stop)
    ended = pencil("review", odd_run, "--source", "my rows.npz")
    assert command_in(ended.out.strip()) == ["labels", str(odd_run), "--apply"]


@pytest.mark.parametrize(("what", "code"), [(stop, 130), (fail, 0)])
def test_a_report_that_was_not_made(
    pencil: Command, odd_run: Path, monkeypatch: pytest.MonkeyPatch, what: object, code: int
) -> None:
    monkeypatch.setattr("pencil.report.make_report", what)
    ended = pencil("train", "my rows.npz", "--out", "my runs/two", *QUICK, "--quiet")
    assert ended.code == code and command_in(ended.line) == ["report", "my runs/two"]


def test_stopped_at_once(pencil: Command, odd_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pencil.engine.Engine.train", stop)
    ended = pencil("train", "my rows.npz", "--out", "my runs/two", *QUICK, "--quiet")
    assert ended.code == 130 and command_in(ended.line) == ["train", "--resume", "--out", "my runs/two"]


def test_stopped_in_order() -> None:
    assert command_in(str(Interrupted(ODD, 2))) == ["train", "--resume", "--out", str(ODD)]


def test_a_parent_that_is_not_finished(pencil: Command, odd_run: Path) -> None:
    status = odd_run / "status.json"
    status.write_text(json.dumps(json.loads(status.read_text()) | {"state": "stopped"}))
    ended = pencil("train", "--from", odd_run, "--out", "two")
    assert ended.code == 2 and command_in(ended.line) == ["train", "--resume", "--out", str(odd_run)]


def test_nothing_to_audit(pencil: Command, odd_run: Path) -> None:
    write_rows(Path("no labels.npz"), y=[-1] * 120, clean=None, x_test=None, y_test=None)
    ended = pencil("audit", odd_run, "no labels.npz")
    assert ended.code == 2 and command_in(ended.line) == ["predict", str(odd_run), "no labels.npz"]


def test_code_that_must_be_named_again() -> None:
    code = "my code.py:read"
    with pytest.raises(PencilError, match=re.escape("--source 'my code.py:read'")):
        read_dataset(DataSettings(source=code))
    with pytest.raises(PencilError, match=re.escape("--method 'my code.py:read'")):
        refuse_unnamed_code({"method": code}, {}, RunFolder(ODD))
