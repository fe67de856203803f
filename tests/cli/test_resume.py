"""A run that was killed or stopped goes on, and ends as if nothing had happened."""

import json
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pencil.cli.display import Lines
from pencil.config import read_toml
from pencil.results.checkpoint_store import CheckpointStore
from pencil.results.folder import RunFolder

from ..warm import WarmProcess
from .conftest import QUICK, Command, closed_pipe, listing, write_rows

LONG = (
    "--epochs", "8,16,8", "--backbone", "mlp", "--noise", "symmetric:0.3", "--set", "optimizer.batch_size=16",
    "--set", "hardware.threads=1", "--set", "hardware.checkpoint_seconds=0",
)  # fmt: skip
Process = Callable[..., WarmProcess]


@pytest.mark.slow
@pytest.mark.parametrize("table", ["dense", "mapped"])
def test_killed_at_any_moment_a_run_ends_the_same_to_the_bit(
    pencil: Command, warm: Process, rows: Path, table: str
) -> None:
    how = (*LONG, "--set", f"hardware.table={table}")
    assert pencil("train", rows, "--out", "unbroken", *how).code == 0
    chance = random.Random(1)
    child = warm("train", rows, "--out", "killed", *how)
    for number in range(2):
        _wait_for_epoch("killed", 12 * number + 1 + chance.randrange(6), child)
        time.sleep(chance.random() / 20)
        child.kill()
        child.communicate()
        child = warm("train", "--resume", "--out", "killed")
    out, err = child.communicate(timeout=100)
    assert child.returncode == 0, out + err
    for name in ("model.safetensors", "label_distributions.safetensors", "labels.parquet"):
        assert Path("killed", name).read_bytes() == Path("unbroken", name).read_bytes(), name
    assert len(Path("killed/history.jsonl").read_text().splitlines()) == 32


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_request_to_stop_saves_and_says_how_to_go_on(
    pencil: Command, warm: Process, rows: Path, number: int, code: int
) -> None:
    child = warm("train", rows, "--out", "run", *LONG)
    _wait_for_epoch("run", 3, child)
    child.send_signal(number)
    _, err = child.communicate(timeout=100)
    assert child.returncode == code, err
    assert err.splitlines()[-1] == "pencil: stopped; go on with: pencil train --resume --out run"
    done = len(Path("run/history.jsonl").read_text().splitlines())
    resumed = pencil("train", "--resume", "--out", "run")
    assert resumed.code == 0, resumed.err
    assert "may differ" in resumed.err
    assert done < 32 == len(Path("run/history.jsonl").read_text().splitlines())


def test_a_run_whose_lines_nobody_reads_any_more_stops_in_order(
    pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_in_the_third_epoch(shown: Lines, epoch: int, step: int, steps: int) -> None:
        if (epoch, step) == (2, 1):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Lines, "stepped", stop_in_the_third_epoch)
    with closed_pipe() as unheard:
        monkeypatch.setattr(sys, "stderr", unheard)
        assert pencil("train", rows, "--out", "run", *LONG).code == 130
    saved = CheckpointStore(Path("run/checkpoint")).load()
    assert (saved.meta["epoch"], int(saved.tensors["clock.step"][0])) == (2, 1)
    assert RunFolder.open("run").status().state == "stopped"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_request_stops_at_once_with_the_code_of_its_signal(
    pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    def insist(shown: Lines, epoch: int, step: int, steps: int) -> None:
        if (epoch, step) == (2, 1):
            signal.raise_signal(number)
            signal.raise_signal(number)

    monkeypatch.setattr(Lines, "stepped", insist)
    ended = pencil("train", rows, "--out", "run", *LONG)
    assert ended.code == code, ended.err
    assert ended.err.splitlines()[-1].startswith("pencil: stopped at once; go on from the last checkpoint with: ")


def test_a_run_that_a_shell_lets_ignore_ctrl_c_goes_on(
    pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lines, "stepped", lambda *_: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert pencil("train", rows, "--out", "run", *QUICK).code == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)])
def test_ctrl_c_that_is_also_handed_on_as_a_termination_is_one_request(
    pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch, numbers: tuple[signal.Signals, signal.Signals]
) -> None:
    def stop(shown: Lines, epoch: int, step: int, steps: int) -> None:
        if (epoch, step) == (2, 1):
            for number in numbers:
                signal.raise_signal(number)

    monkeypatch.setattr(Lines, "stepped", stop)
    ended = pencil("train", rows, "--out", "run", *LONG)
    assert ended.code == 128 + numbers[0], ended.err
    assert ended.err.splitlines()[-1].startswith("pencil: stopped; go on with: ")
    saved = CheckpointStore(Path("run/checkpoint")).load()
    assert (saved.meta["epoch"], int(saved.tensors["clock.step"][0])) == (2, 1)


def test_the_command_that_started_a_run_resumes_it(pencil: Command, rows: Path) -> None:
    assert pencil("train", rows, "--out", "run", *QUICK).code == 0
    again = pencil("train", rows, "--out", "run", "--resume", "--device", "cpu", "--json", *QUICK)
    assert again.code == 0, again.err
    assert '"method": "pencil"' in again.out


def test_epochs_in_all_are_shared_by_the_phases(pencil: Command, rows: Path) -> None:
    all_of_them = (rows, "--epochs", "9", "--backbone", "mlp", "--out", "run")
    described = pencil("train", *all_of_them, "--dry-run", "--json")
    lengths = [phase["epochs"] for phase in json.loads(described.out)["phases"]]
    assert sum(lengths) == 9 and min(lengths) > 0
    assert pencil("train", *all_of_them, "--quiet").code == 0
    assert len(Path("run/history.jsonl").read_text().splitlines()) == 9
    assert pencil("train", *all_of_them, "--resume", "--quiet").code == 0
    other = pencil("train", "--resume", "--out", "run", "--epochs", "8")
    assert other.code == 2 and "9 epochs in all" in other.line


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--seed", "7"), "seed"),
        (("--epochs", "1,2,1"), "phases.labels.epochs"),
        (("--noise", "symmetric:0.2"), "data.noise"),
        (("--method", "cross_entropy"), "method"),
        (("--precision", "64-true"), "hardware.precision"),
        (("mine.py:rows",), "data.source"),
        (("--set", "optimizer.batch_size=3"), "optimizer.batch_size"),
    ],
)
def test_other_settings_are_refused(
    pencil: Command, quick_run: Path, place: Path, arguments: tuple[str, ...], named: str
) -> None:
    before = listing(place)
    ended = pencil("train", "--resume", "--out", "run", *arguments)
    assert ended.code == 2
    assert f"other settings ({named})" in ended.line and "--out" in ended.line
    assert listing(place) == before


def test_other_data_is_refused(pencil: Command, quick_run: Path, rows: Path) -> None:
    write_rows(rows, y=(list(range(3)) * 40))
    ended = pencil("train", "--resume", "--out", "run")
    assert ended.code == 2
    assert "data has changed" in ended.line


def test_data_that_has_moved_is_named_where_it_is(pencil: Command, rows: Path) -> None:
    run = RunFolder(Path("run"))
    assert pencil("train", rows.name, "--out", "run", "--quiet", *QUICK).code == 0
    Path("new").mkdir()
    rows.rename("new/points.npz")
    ended = pencil("train", "--resume", "--out", "run")
    assert ended.code == 2 and ended.line.endswith("say where: pencil train SOURCE --resume --out run")
    saved = run.config.read_bytes()
    for place in (("new/points.npz",), ("--root", "new/points.npz")):
        run.set_state("stopped")
        ended = pencil("train", "--resume", "--out", "run", *place)
        assert ended.code == 0, ended.err
        assert "shows no examples" not in ended.err
        assert run.status().state == "finished"
    assert run.config.read_bytes() == saved


def test_other_data_in_another_place_is_refused(pencil: Command, quick_run: Path, place: Path) -> None:
    write_rows(place / "other.npz", y=(list(range(3)) * 40))
    before = listing(place)
    for source in ("other.npz", "digits"):
        ended = pencil("train", source, "--resume", "--out", "run")
        assert ended.code == 2 and ended.line == (
            f"pencil: {source} is not the data that the run in run was started with, or has changed since; name the"
            " place of that data, or start a new run with another --out."
        )
    ended = pencil("train", "nowhere.npz", "--resume", "--out", "run")
    assert ended.line == "pencil: nowhere.npz does not exist; give a folder, a file or a source's name."
    assert listing(place) == before


def test_data_of_the_same_names_and_labels_may_be_other_data(pencil: Command, rows: Path) -> None:
    write_rows(rows, ids=np.arange(120))
    assert pencil("train", rows.name, "--out", "run", "--quiet", *QUICK).code == 0
    write_rows(Path("other.npz"), ids=np.arange(120), x=np.ones((120, 8), np.float32) * np.arange(8))
    ended = pencil("train", "other.npz", "--resume", "--out", "run")
    assert ended.code == 2 and "other.npz is not the data that the run in run was started with" in ended.line


def test_a_table_its_images_and_its_labels_may_each_have_moved(pencil: Command, place: Path) -> None:
    rng = np.random.default_rng(0)
    Path("pictures").mkdir()
    for number in range(20):
        Image.fromarray(rng.integers(0, 255, (9, 9, 3), dtype=np.uint8)).save(f"pictures/{number}.png")
    Path("t.csv").write_text("path,label\n" + "".join(f"{n}.png,{'ab'[n % 2]}\n" for n in range(20)))
    Path("people.csv").write_text("id,label\n" + "".join(f"{n}.png,{'ab'[n % 3 == 0]}\n" for n in range(20)))
    named = ("--root", "pictures", "--labels", "people.csv")
    assert pencil("train", "t.csv", *named, "--out", "run", "--epochs", "1,1,1", "--quiet").code == 0
    RunFolder(Path("run")).set_state("stopped")
    Path("new").mkdir()
    for name in ("t.csv", "pictures", "people.csv"):
        Path(name).rename(Path("new", name))
    moved = ("new/t.csv", "--root", "new/pictures", "--labels", "new/people.csv")
    other = pencil("train", *moved[:3], "--labels", "new/t.csv", "--resume", "--out", "run")
    assert other.code == 2, "the labels that are beside the images are others"
    ended = pencil("train", *moved, "--resume", "--out", "run")
    assert ended.code == 0, ended.err


def test_a_run_that_is_stopped_again_names_the_new_place(
    pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(shown: Lines, epoch: int, step: int, steps: int) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Lines, "stepped", stop)
    first = pencil("train", rows.name, "--out", "run", *LONG)
    assert first.err.splitlines()[-1] == "pencil: stopped; go on with: pencil train --resume --out run"
    rows.rename("moved.npz")
    again = pencil("train", "moved.npz", "--resume", "--out", "run")
    assert again.code == 130, again.err
    assert again.err.splitlines()[-1] == "pencil: stopped; go on with: pencil train --resume --out run moved.npz"


def _wait_for_epoch(run: str, epoch: int, child: WarmProcess) -> None:
    history, end = Path(run, "history.jsonl"), time.monotonic() + 100
    while not history.exists() or history.read_bytes().count(b"\n") < epoch:
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_files_that_settings_name_are_found_from_any_folder(
    pencil: Command, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savetxt("t.csv", 0.7 * np.eye(3) + 0.1, delimiter=",")
    told = ("--noise", "matrix:t.csv", "--method", "forward", "--set", "transition=t.csv")
    assert pencil("train", "rows.npz", "--out", "run", "--epochs", "1", "--backbone", "mlp", *told).code == 0
    RunFolder(Path("run")).set_state("stopped")
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    for arguments in (("--resume", "--out", "../run"), ("--from", "../run", "--out", "new")):
        ended = pencil("train", *arguments)
        assert ended.code == 0, ended.err
    assert read_toml(Path("new/config.toml"))["data"]["noise"] == f"matrix:{rows.parent / 't.csv'}"
