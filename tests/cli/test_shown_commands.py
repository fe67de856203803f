"""Commands that are printed work when they are copied, whatever the paths in them are called."""

import html
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import NoReturn

import pyarrow.parquet as pq
import pytest

from pencil.config import DataSettings
from pencil.data.located import read_dataset
from pencil.engine import Stopped
from pencil.errors import PencilError
from pencil.results.folder import RunFolder
from pencil.run.planning.refuse import refuse_unnamed_code

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


def stop_in_order(*args: object, **named: object) -> NoReturn:
    raise Stopped


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


def test_stopped_in_order(pencil: Command, odd_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pencil.engine.Engine.train", stop_in_order)
    ended = pencil("train", "my rows.npz", "--out", "my runs/two", *QUICK, "--quiet")
    assert ended.code == 128 and command_in(ended.line) == ["train", "--resume", "--out", "my runs/two"]


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
    with pytest.raises(PencilError, match=re.escape("source 'my code.py:read'")):
        read_dataset(DataSettings(source=code))
    with pytest.raises(PencilError, match=re.escape("method 'my code.py:read'")):
        refuse_unnamed_code({"method": code}, {}, RunFolder(ODD))


@pytest.mark.parametrize("how", [stop, stop_in_order])
def test_a_run_with_code_of_its_own_that_was_stopped(
    pencil: Command, own_code: list[str], monkeypatch: pytest.MonkeyPatch, how: object
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("pencil.engine.Engine.train", how)
        ended = pencil("train", *own_code, "--out", "stopped", "--epochs", "1", "--quiet")
    assert "--resume" in ended.line
    assert pencil("train", "--from", "stopped").line.endswith(ended.line.partition("pencil train")[2])
    assert pencil(*command_in(ended.line)).code == 0


def test_a_finished_run_with_code_of_its_own(
    pencil: Command, own_code: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pencil.review.serve.serve", stop)
    with monkeypatch.context() as patched:
        patched.setattr("pencil.report.make_report", fail)
        ended = pencil("train", *own_code[:1], *own_code[3:], "--out", "own", "--epochs", "2,9,1")
    told = next(line for line in ended.err.splitlines() if "report could not be made" in line)
    assert pencil(*command_in(told)).code == 0
    shown = next(line for line in ended.out.splitlines() if line.startswith("next"))
    review, predict = command_in(shown, ends=", or"), command_in(shown.partition(", or: ")[2])
    assert pencil(*review).code == 0 and pencil(*predict).code == 0
    page = html.unescape(Path("own/report.html").read_text(encoding="utf-8"))
    steps = [shlex.split(step)[1:] for step in re.findall("<code>(pencil .* .*?)</code>", page)]
    [start] = [step for step in steps if "--from" in step]
    assert review in steps and predict in steps and pencil(*start).code == 0


def test_code_is_named_from_another_folder(
    pencil: Command, own_code: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("pencil.engine.Engine.train", stop)
        pencil("train", *own_code, "--out", "run", "--epochs", "1", "--quiet")
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    there = [word.replace("my code.py", "../my code.py") for word in own_code]
    ended = pencil("train", *there, "--resume", "--out", "../run")
    assert ended.code == 0 and "has changed" not in ended.err
    assert pencil("train", *there, "--resume", "--out", "../run").code == 0
    network = ("--backbone", "../my code.py:make")
    assert pencil("predict", "../run", "../my code.py:read", *network).code == 0
    other = [word.replace(":make", ":Mine") for word in there]
    assert pencil("train", *other, "--resume", "--out", "../run").code == 2
    with Path("../my code.py").open("a") as file:
        file.write("# Otherwise.\n")
    with pytest.warns(UserWarning, match="has changed since the run was trained"):
        pencil("predict", "../run", "../my code.py:read", *network)


@pytest.fixture
def own_code(place: Path) -> list[str]:
    """What names code of one's own for everything that can be."""
    (place / "my code.py").write_text(OWN)
    options = ("--method", "Mine", "--backbone", "make", "--noise", "swap")
    return ["my code.py:read", *(word if word[0] == "-" else f"my code.py:{word}" for word in options)]


OWN = """
import numpy as np
from torch import nn
from pencil.data import from_arrays
from pencil.losses import cross_entropy
from pencil.methods import Method
from pencil.table import MovingAverage
from pencil.types import Phase, Terms


def read(request):
    labels = np.arange(80) % 2
    rows = np.random.default_rng(0).normal(size=(80, 4)) + 3 * labels[:, None]
    return from_arrays(rows.astype(np.float32), labels)


def make(spec, num_classes):
    return nn.Linear(*spec.shape, num_classes)


def swap(num_classes, argument):
    return 0.7 * np.eye(num_classes) + 0.3 / num_classes


class Mine(Method):
    phase_names = ("only",)

    def phases(self, settings):
        only = self.phase_setting(settings, "only")
        return (Phase("only", only.epochs, only.lr, MovingAverage(0.5), track_predictions=True),)

    def loss(self, batch):
        return Terms({"cross_entropy": cross_entropy(batch.logits, batch.given)})
"""


def test_pencil_after_another_method_reads_the_same_labels(pencil: Command, place: Path) -> None:
    lines = [f"{number % 3}.{number},{'xyz'[number % 3]},{'pq'[number % 2]}" for number in range(60)]
    Path("table.csv").write_text("\n".join(["a,the kind,class", *lines]), encoding="utf-8")
    asked = ["--set", "data.options.label=the kind", "--noise", "symmetric:0.2", "--held-out", "0.2", "--seed", "3"]
    assert pencil("train", "table.csv", "--out", "own", "--method", "cross_entropy", "--epochs", "1", *asked).code == 0
    page = html.unescape(Path("own/report.html").read_text(encoding="utf-8"))
    [command] = [step for step in re.findall("<code>(pencil .* .*?)</code>", page) if "--out" in step]
    ended = pencil(*shlex.split(command)[1:], *QUICK)
    assert ended.code == 0, ended.err
    before, after = (pq.read_table(f"{run}/labels.parquet") for run in ("own", "own-pencil"))
    assert all(before[name].equals(after[name]) for name in ("id", "given_name", "clean", "split"))
