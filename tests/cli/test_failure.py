"""What goes wrong outside of the program is one line and an exit code; a bug keeps its traceback."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from pencil.cli.failure import guarded, one_line
from pencil.errors import PencilError

from .conftest import closed_pipe


def fails_with(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return guarded(command)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (PencilError("row 3 is\nbad"), 2, "pencil: row 3 is bad"),
        (PencilError('the class "a\x1b[2Jb" is bad'), 2, 'the class "a\\x1b[2Jb" is bad'),
        (PermissionError(13, "Permission denied", "/root/x"), 2, "/root/x: Permission denied"),
        (OSError(28, "No space left on device"), 2, "No space left"),
        (OSError(errno.EFBIG, "File too large"), 2, "File too large; it is larger than the limit on file sizes"),
        (MemoryError(), 1, "batch_size"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), 1, "batch_size"),
        (type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory"), 1, "batch_size"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_one_line_and_a_code(capsys: pytest.CaptureFixture[str], error: BaseException, code: int, words: str) -> None:
    with pytest.raises(typer.Exit) as ended:
        fails_with(error)()
    assert ended.value.exit_code == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("pencil: ") and words in line


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        fails_with(ZeroDivisionError())()


def test_termination_ends_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(typer.Exit) as ended:
        guarded(lambda: os.kill(os.getpid(), signal.SIGTERM))()
    assert ended.value.exit_code == 143
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_a_stopped_import_fails_with_is_a_stop(
    capsys: pytest.CaptureFixture[str], number: signal.Signals, code: int
) -> None:
    def command() -> None:
        try:
            signal.raise_signal(number)
        except BaseException:
            raise RecursionError("a module is half there") from None

    before = signal.getsignal(number)
    with pytest.raises(typer.Exit) as ended:
        guarded(command)()
    assert ended.value.exit_code == code
    assert capsys.readouterr().err == "pencil: stopped.\n"
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("package", ["pencil", "pencil_labels"])
def test_ctrl_c_during_the_first_imports_is_one_line(tmp_path: Path, package: str) -> None:
    (tmp_path / "typer.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", package, "list"]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "pencil: stopped.\n")


@pytest.mark.parametrize("asked", ["--help", "train --help", "--version", ""])
def test_help_that_nobody_reads_or_that_cannot_be_written(asked: str) -> None:
    for place, code, lines in (("| :", 141, 0), (">/dev/full", 2, 1)):
        if "full" in place and not os.path.exists("/dev/full"):
            continue
        command = f"'{sys.executable}' -m pencil {asked} {place}; exit ${{PIPESTATUS[0]}}"
        ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        assert (ended.returncode, len(ended.stderr.splitlines())) == (code, lines), ended.stderr


def test_a_second_signal_does_not_cut_off_the_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(text: str) -> str:
        signal.raise_signal(signal.SIGTERM)
        return text

    monkeypatch.setattr("pencil.cli.failure.in_one_line", interrupted)
    with pytest.raises(typer.Exit) as ended:
        guarded(lambda: signal.raise_signal(signal.SIGINT))()
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == "pencil: stopped.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed there")
def test_a_command_in_a_folder_that_is_gone_says_so(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    command = f"cd gone && rmdir ../gone && '{sys.executable}' -m pencil train digits --out '{tmp_path}/run'"
    ended = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 2 and "is gone; go to one that exists" in ended.stderr, ended.stderr
    assert len(ended.stderr.splitlines()) == 1 and not any(tmp_path.iterdir())


def test_an_endless_word_is_cut_out_of_the_middle(capsys: pytest.CaptureFixture[str]) -> None:
    one_line(f'photos.csv: the label is "{"a" * 100_000}"; mend it.')
    line = capsys.readouterr().err
    assert line.startswith("pencil: photos.csv") and line.endswith('"; mend it.\n') and len(line) < 1100


@pytest.mark.parametrize("error", [PencilError("row 3 is bad"), OSError(errno.ENOSPC, "No space left on device")])
def test_a_line_that_nobody_hears_changes_no_code(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    with closed_pipe() as unheard:
        monkeypatch.setattr(sys, "stderr", unheard)
        with pytest.raises(typer.Exit) as ended:
            fails_with(error)()
        unheard.flush()
    assert ended.value.exit_code == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk here that is always full")
def test_what_could_not_be_written_is_given_up_before_the_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(typer.Exit) as ended:
            guarded(lambda: print("a result"))()
        full.flush()
    assert ended.value.exit_code == 2


@pytest.mark.parametrize(("command", "code"), [("list >&- 2>&-", 0), ("report nowhere 2>&-", 2)])
def test_a_command_with_closed_streams_ends_as_it_would(command: str, code: int) -> None:
    ended = subprocess.run(["sh", "-c", f"exec '{sys.executable}' -m pencil {command}"], check=False)
    assert ended.returncode == code
