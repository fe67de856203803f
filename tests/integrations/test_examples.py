"""The examples for users of other tools run as they stand and do what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(EXAMPLES / name)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["own_loop.py", "estimator.py", "lightning_module.py"])
def test_labels_are_corrected(name: str) -> None:
    output = run(name)
    found = re.search(r"correct labels: ([\d.]+)% given, ([\d.]+)% after training", output)
    assert found, output
    assert float(found[2]) > float(found[1]) + 15
    assert name != "estimator.py" or "(600, 10)" in output or "cleanlab finds" in output


def test_the_loop_itself_takes_ten_lines() -> None:
    source = (EXAMPLES / "own_loop.py").read_text(encoding="utf-8")
    loop = source[source.index("model = ") : source.index("before, after")].strip()
    assert len(loop.splitlines()) <= 10
