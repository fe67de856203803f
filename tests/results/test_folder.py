"""One folder, one run, one writer."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pencil.errors import PencilError
from pencil.results.folder import FORMAT, RunFolder

HOLD = """
import os, sys, time
from pencil.results.folder import RunFolder
with RunFolder(__import__("pathlib").Path(sys.argv[1])).lock():
    ready, begun = os.pipe()
    if sys.argv[2] == "fork":
        if os.fork() == 0:
            os.write(begun, b"!")
            time.sleep(10)
            os._exit(0)
        os.read(ready, 1)
    print("held", flush=True)
    time.sleep(60)
"""


def hold(path: Path, how: str = "plain") -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path), how], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_a_new_folder_is_running_and_opens_again(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "deep" / "run", parent="other")
    assert RunFolder.open(tmp_path / "deep" / "run") == folder
    status = folder.status()
    assert (status.format, status.state, status.parent) == (FORMAT, "running", "other")
    assert status.updated.endswith("+00:00") and status.pencil_version
    folder.set_state("finished")
    assert folder.status().state == "finished" and folder.status().parent == "other"


def test_status_holds_the_fields_of_the_contract(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    fields = json.loads(folder.status_file.read_text())
    assert set(fields) == {"format", "state", "parent", "pencil_version", "updated", "started_in"}


def test_the_folder_a_run_was_started_in_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = RunFolder.create("runs/run")
    folder.set_state("finished")
    assert folder.status().started_in == ("../..", str(tmp_path))
    assert folder.homes() == [tmp_path, tmp_path]
    Path("runs/run").rename("moved")
    assert RunFolder.open("moved").homes() == [tmp_path.parent, tmp_path]


@pytest.mark.parametrize("kept", [{}, {"started_in": None}, {"started_in": "x"}, {"started_in": [1, {}]}])
def test_a_run_that_does_not_know_where_it_was_started_opens(tmp_path: Path, kept: dict[str, object]) -> None:
    (tmp_path / "status.json").write_text(json.dumps({"format": 1, "state": "finished"} | kept))
    assert RunFolder.open(tmp_path).homes() == []


def test_names_are_those_of_the_contract() -> None:
    folder = RunFolder(Path("run"))
    paths = [
        folder.config, folder.result, folder.history, folder.labels, folder.label_distributions, folder.model,
        folder.classes, folder.preprocessing, folder.split, folder.checkpoint, folder.decisions, folder.status_file,
        folder.lock_file, folder.report,
    ]  # fmt: skip
    assert [path.name for path in paths] == [
        "config.toml", "result.json", "history.jsonl", "labels.parquet", "label_distributions.safetensors",
        "model.safetensors", "classes.json", "preprocessing.json", "split.json", "checkpoint", "decisions.sqlite",
        "status.json", "lock", "report.html",
    ]  # fmt: skip
    assert all(path.parent == Path("run") for path in paths)


def test_create_refuses_what_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(PencilError, match=r"file is a file; choose another out"):
        RunFolder.create(file)
    RunFolder.create(tmp_path / "run")
    with pytest.raises(PencilError, match=r"run already holds a run; choose another out, or go on with resume=True"):
        RunFolder.create(tmp_path / "run")
    with pytest.raises(PencilError, match=r"already holds other files; choose another out"):
        RunFolder.create(tmp_path)
    with pytest.raises(PencilError, match=r"could not be written: Not a directory"):
        RunFolder.create(file / "run")
    assert file.read_text() == "mine"


def test_a_name_that_no_file_of_the_run_could_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "odd\udcff"
    try:
        odd.mkdir()
    except (OSError, UnicodeEncodeError):
        pytest.skip("this file system takes no such name")
    for refused in (RunFolder.check_free, RunFolder.create, RunFolder.open):
        with pytest.raises(PencilError, match=r"odd\\udcff/run' is not UTF-8; rename it, or give another folder"):
            refused(odd / "run")
    monkeypatch.chdir(odd)
    with pytest.raises(PencilError, match="is not UTF-8"):
        RunFolder.create("run")
    assert RunFolder.create(tmp_path / "run").homes() == []


def test_create_accepts_an_empty_folder_and_the_remains_of_an_interrupted_create(tmp_path: Path) -> None:
    (tmp_path / ".status.json.1.tmp").write_bytes(b"{")
    (tmp_path / "lock").write_bytes(b"")
    folder = RunFolder.create(tmp_path)
    with folder.lock():
        assert sorted(os.listdir(tmp_path)) == ["lock", "status.json"]


def test_open_refuses_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=r"nowhere does not exist"):
        RunFolder.open(tmp_path / "nowhere")
    with pytest.raises(PencilError, match=r"is not a run folder"):
        RunFolder.open(tmp_path)
    status = tmp_path / "status.json"
    status.write_text('{"format": 2, "state": "running"}')
    with pytest.raises(PencilError, match=r"newer pencil \(format 2; this one reads up to 1\)"):
        RunFolder.open(tmp_path)
    for text in ("{", '{"state": "running"}', '{"format": 1, "state": "asleep"}'):
        status.write_text(text)
        with pytest.raises(PencilError, match=r"status.json is damaged"):
            RunFolder.open(tmp_path)


def test_a_second_writer_is_refused_by_name_until_the_first_is_done(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    with folder.lock():
        assert folder.lock_file.read_text() == f"{os.getpid()} {socket.gethostname()}\n"
        with pytest.raises(PencilError, match=f"in use by process {os.getpid()} on "), folder.lock():
            pass
    with folder.lock():
        pass


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("how", ["plain", "fork"])
def test_the_lock_of_a_killed_process_is_free_even_while_its_child_lives(tmp_path: Path, how: str) -> None:
    folder = RunFolder.create(tmp_path / "run")
    process = hold(folder.path, how)
    with pytest.raises(PencilError, match=f"in use by process {process.pid} on "), folder.lock():
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    with folder.lock():
        pass
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.parametrize(
    "name", ["lock", "log.txt", "checkpoint", "table/label_logits.bin", "pictures/curves.png", "watch/csv"]
)
def test_a_link_in_a_run_folder_is_refused(tmp_path: Path, name: str) -> None:
    """Whoever writes through it would write to a file of the user's."""
    folder, letter = RunFolder.create(tmp_path / "run"), tmp_path / "letter.txt"
    letter.write_text("dear diary")
    (folder.path / name).parent.mkdir(exist_ok=True)
    (folder.path / name).symlink_to(letter)
    with pytest.raises(PencilError, match=rf"{name} is a link; .*put a copy in its place"):
        RunFolder.open(folder.path)
    (folder.path / name).unlink()
    os.mkfifo(folder.path / name)
    with pytest.raises(PencilError, match=rf"{name} is no file; remove it"):
        RunFolder.open(folder.path)
