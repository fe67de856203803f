"""Many runs from one file, in real processes."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from pencil.cli import run
from pencil.cli.sweep import _table
from pencil.errors import PencilError
from pencil.results.folder import RunFolder
from pencil.run.queue import Job, Outcome, _environment, run_jobs, state_of
from pencil.sweep import read_sweep, rows

FILE = """
out = "{out}"
[settings]
data = {{ source = "digits", noise = "symmetric:0.3" }}
backbone = "mlp"
hardware = {{ threads = 1 }}
phases.backbone = {{ epochs = 1, lr = "0.1" }}
phases.labels = {{ epochs = 1, lr = "0.1" }}
phases.tuning = {{ epochs = 1, lr = "0.1" }}
[runs.one]
seed = 1
[runs.broken]
options = {{ label_stepp = "1" }}
[runs.two]
seed = 2
"""


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_a_failing_run_stops_no_other_and_finished_ones_are_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(FILE.format(out=tmp_path / "runs"))
    assert run(["sweep", str(file), "--parallel", "2", "--json"]) == 1
    rows = {row["run"]: row for row in json.loads(capsys.readouterr().out)}
    assert {name: row["state"] for name, row in rows.items()} == {
        "one": "finished",
        "broken": "failed",
        "two": "finished",
    }
    assert 'Did you mean "label_step"' in rows["broken"]["reason"]
    assert rows["one"]["test_accuracy"]["last"] > 15 and rows["one"]["method"] == "pencil"
    assert not (tmp_path / "runs/broken").exists()

    written = (tmp_path / "runs/one/result.json").stat().st_mtime_ns
    file.write_text(FILE.format(out=tmp_path / "runs").replace("label_stepp", "label_step"))
    assert run(["sweep", str(file), "--parallel", "2"]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[:3] for line in shown.splitlines()[1:]] == [
        ["one", "skipped", "pencil"],
        ["broken", "finished", "pencil"],
        ["two", "skipped", "pencil"],
    ]
    assert (tmp_path / "runs/one/result.json").stat().st_mtime_ns == written

    file.write_text(file.read_text().replace("seed = 2", "seed = 3"))
    assert run(["sweep", str(file)]) == 2
    assert "the run two is finished, with other settings than the file has now (seed)" in capsys.readouterr().err
    RunFolder(tmp_path / "runs/two").set_state("stopped")
    assert run(["sweep", str(file)]) == 2
    words = "the run two was begun with other settings than the file has now (seed); give it another name, or remove"
    assert words in capsys.readouterr().err


def test_a_method_that_is_told_more_is_marked(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"method": "forward", "extra_information": "the truth", "seconds": 1}')
    found = rows([Outcome(Job("told", tmp_path, {}), "finished"), Outcome(Job("lost", tmp_path, {}), "failed", "why")])
    assert found[0]["extra_information"] == "the truth"
    told, lost = (line.split() for line in _table(found).splitlines()[1:])
    assert told[:4] == ["told", "finished", "forward", "*"] and lost[:3] == ["lost", "failed", "–"]


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_a_run_whose_hardware_is_no_group_stops_no_other(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sweep.toml").write_text('[runs.a]\nhardware = "cpu"\n[runs.b]\ndata.source = "digits"\nmethod = "nope"\n')
    assert run(["sweep", "sweep.toml", "--json"]) == 1
    reasons = {row["run"]: row["reason"] for row in json.loads(capsys.readouterr().out)}
    assert "hardware is a group" in reasons["a"] and 'there is no method "nope"' in reasons["b"]


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_what_is_no_longer_in_the_file_or_in_the_users_own_file_is_noticed(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "mine.py").write_text("from pencil.methods.cross_entropy import METHOD\n")
    shared = FILE.format(out="runs").split("phases.backbone")[0].replace(', noise = "symmetric:0.3"', "")
    text = shared + 'phases.training.epochs = 1\n[runs.a]\nmethod = "mine.py:METHOD"\n'
    more = 'data.noise = "symmetric:0.6"\nseed = 0\noptimizer.weight_decay = 1e-4\n'
    file = place / "sweep.toml"

    def swept(text: str) -> tuple[int, str]:
        file.write_text(text)
        return run(["sweep", "sweep.toml"]), capsys.readouterr().err

    assert swept(text + more)[0] == 0
    code, told = swept((text + more).replace("seed = 0\n", ""))
    assert code == 0 and "a: skipped" in told, "it is 0 all the same"
    for line in more.replace("seed = 0\n", "").splitlines(keepends=True):
        code, told = swept((text + more).replace(line, ""))
        name = line.partition(" ")[0]
        assert code == 2 and f"the run a is finished, with other settings than the file has now ({name}); give" in told

    (place / "mine.py").write_text("from pencil.methods.mae import METHOD\n")
    code, told = swept(text + more)
    assert (code, told.count("\n")) == (2, 1)
    assert "the run a is finished, with other code in mine.py:METHOD than there is now; restore it, or remove" in told


@pytest.mark.parametrize(
    ("shared", "line"),
    [
        ('bakbone = "mlp"', 'there is no setting "bakbone". Did you mean "backbone"'),
        ("optimizer.batch_size = true", "optimizer.batch_size"),
        ('options.label_stepp = "1"', 'Did you mean "label_step"'),
        ('options.label = "kind"', 'Did you mean "data.options.label"'),
        ("phases.label.epochs = 1", 'Did you mean "labels"'),
        ('method = "pensil"', 'Did you mean "pencil"'),
        ('recipe = "autto"', 'Did you mean "auto"'),
        ('backbone = "mpl"', 'Did you mean "mlp"'),
        ('data.source = "gone.csv"', "gone.csv does not exist; give a folder, a file or a source's name"),
        ('data.source = ""', "no data is named; give a folder, a file or a source"),
    ],
)
def test_what_would_fail_in_every_run_is_refused_before_the_first(
    shared: str, line: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "" if "data.source" in shared else 'data.source = "digits"'
    (place / "sweep.toml").write_text(f"[settings]\n{source}\n{shared}\n[runs.a]\n[runs.b]\nseed = 1\n")
    assert run(["sweep", "sweep.toml"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("pencil: no run can be started: ") and line in told.err and not told.out
    assert [path.name for path in place.iterdir()] == ["sweep.toml"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "has no runs"),
        ("[run.a]\nseed = 1", 'unknown key "run". Did you mean "runs"'),
        ('[runs."../a"]\nseed = 1', "cannot be a folder's name"),
        ('[runs.""]\nseed = 1', "cannot be a folder's name"),
        ("[runs", "is not a readable TOML file"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, text: str, line: str) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    with pytest.raises(PencilError, match=line):
        read_sweep(file)


def test_runs_take_the_shared_settings_and_lay_their_own_over_them(tmp_path: Path) -> None:
    file = tmp_path / "rates.toml"
    file.write_text("[settings]\nseed = 1\noptimizer.momentum = 0.5\n[runs.a]\n[runs.b]\noptimizer.momentum = 0.9\n")
    first, second = read_sweep(file)
    assert first.document == {"seed": 1, "optimizer": {"momentum": 0.5}}
    assert second.document == {"seed": 1, "optimizer": {"momentum": 0.9}}
    assert first.folder == tmp_path / "rates" / "a"


def test_no_file_of_the_users_own_is_written_over(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'out = "."\n[runs.rates]\nmethod = "nope"\n[runs.low]\ndata.source = "nowhere"\n'
    for name in ("rates.toml", "rates"):
        Path(name).write_text(text)
        assert run(["sweep", name]) == 2
        assert capsys.readouterr().err == (
            "pencil: the settings of the run rates would be written over rates.toml, which is of no run; give it"
            " another name, or give another --out.\n"
        )
    Path("rates").write_text(text.replace('out = "."', ""))
    assert run(["sweep", "rates"]) == 2
    assert "rates is no folder, so no run can be kept there; give another --out." in capsys.readouterr().err
    assert Path("rates.toml").read_text() == text
    assert sorted(path.name for path in place.iterdir()) == ["rates", "rates.toml"]


def test_no_run_is_put_among_its_images(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("cat", "dog"):
        Path("photos", name).mkdir(parents=True)
        Image.new("L", (8, 8)).save(f"photos/{name}/1.png")
    Path("b.toml").write_text('out = "photos/runs"\n[settings]\ndata.source = "photos"\n[runs.low]\nseed = 1\n')
    assert run(["sweep", "b.toml"]) == 2
    assert "would lie among its data" in capsys.readouterr().err
    assert sorted(path.name for path in (place / "photos").iterdir()) == ["cat", "dog"]


@pytest.mark.usefixtures("warm_runs")
def test_a_date_among_the_settings_stops_no_other_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sweep.toml"
    (tmp_path / "t.csv").write_text("a,kind\n1,x\n2,y\n")
    source = f"[settings]\ndata.source = '{tmp_path / 't.csv'}'\nbackbone = 'mlp'\n"
    file.write_text(source + "[runs.date]\ndata.options.label = 2024-01-01\n[runs.other]\nseed = -1\n")
    assert run(["sweep", str(file), "--json"]) == 1
    reasons = {row["run"]: row["reason"] for row in json.loads(capsys.readouterr().out)}
    assert "option label is datetime.date(2024, 1, 1); give a text" in reasons["date"]
    assert "seed is -1" in reasons["other"]


def test_no_runs_at_a_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PencilError, match="--parallel is 0"):
        run_jobs([Job("a", tmp_path / "a", {})], parallel=0, tell=print)
    assert state_of(tmp_path) is None


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_a_terminated_sweep_saves_its_runs_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sweep.toml"
    text = FILE.format(out=tmp_path / "runs").split("[runs.one]")[0].replace("epochs = 1,", "epochs = 25,", 1)
    file.write_text(text + "[runs.long]\nseed = 1\n")
    command = [sys.executable, "-m", "pencil", "sweep", str(file)]
    parent = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment())
    history = tmp_path / "runs/long/history.jsonl"
    deadline = time.monotonic() + 60
    while not history.exists() or history.read_text().count("\n") < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.terminate()
    parent.communicate(timeout=60)
    assert parent.returncode != 0
    assert state_of(tmp_path / "runs/long") == "stopped"
    code, told = run(["sweep", str(file)]), capsys.readouterr().err
    assert code == 0, told
    assert "long: going on" in told
    assert state_of(tmp_path / "runs/long") == "finished"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[runs]\na = 1", r"runs\.a is no table; write \[runs\.a\]"),
        ("settings = 3\n[runs.a]", r"settings is no table; write \[settings\]"),
        ("out = 3\n[runs.a]", "out is 3; give the name of a folder"),
    ],
)
def test_what_is_no_table_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "sweep.toml").write_text(text)
    with pytest.raises(PencilError, match=says):
        read_sweep(tmp_path / "sweep.toml")
