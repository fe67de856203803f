"""A disk that fills up ends a run with one line; with more room it goes on."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import QUICK, Command

SCRIPT = """
mkdir small && mount -t tmpfs -o size=100k none small || exit 77
"$PYTHON" -c "$PROGRAM"
ls small/run
"""
PROGRAM = f"""
import subprocess
from pencil.cli import run

print("code", run("train rows.npz --out small/run {" ".join(QUICK)}".split()))
subprocess.run("mount -o remount,size=20m small".split(), check=True)
print("code", run("train --resume --out small/run --quiet".split()))
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_full_disk(rows: Path) -> None:
    environment = os.environ | {"PYTHON": sys.executable, "PROGRAM": PROGRAM}
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if ended.returncode == 77 or "unshare:" in ended.stderr:
        pytest.skip("no file system of its own can be mounted here")
    first, second = [line for line in ended.stdout.splitlines() if line.startswith("code")]
    assert (first, second) == ("code 2", "code 0"), ended.stderr
    line = next(line for line in ended.stderr.splitlines() if line.startswith("pencil: "))
    assert "disk is full" in line and "small/run" in line and "--resume" in line
    assert "Traceback" not in ended.stderr
    assert "model.safetensors" in ended.stdout


def test_a_file_that_may_not_grow(pencil: Command, rows: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        ended = pencil("train", rows, "--out", "run", "--quiet", *QUICK)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert ended.code == 2
    assert ended.line.startswith("pencil: run/") and "could not be written" in ended.line
    assert "limit on file sizes" in ended.line and "ulimit -f" in ended.line
