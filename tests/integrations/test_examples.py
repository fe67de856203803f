"""The examples for users of other tools run as they stand and do what they say."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ..warm import WarmProcess, warm_pair

EXAMPLES = Path(__file__).parents[2] / "examples"
POOLS = {"estimator.py"}
"""Examples with processes of their own, which forked ones must not have."""
Run = Callable[[str], str]


@pytest.fixture
def run(warm_file: Callable[..., WarmProcess]) -> Run:
    """Run an example as a process of its own; return what it printed."""

    def example(name: str) -> str:
        if name in POOLS:
            command, environment = [sys.executable, EXAMPLES / name], {**os.environ, "OMP_NUM_THREADS": "1"}
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        process = warm_file(EXAMPLES / name)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        return out

    return example


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["own_loop.py", "estimator.py", "hugging_face.py", "lightning_module.py", "pretrained_network.py", "tables.py"],
)
def test_labels_are_corrected(name: str, run: Run) -> None:
    output = run(name)
    found = re.findall(r"correct labels: ([\d.]+)% given, ([\d.]+)% after training", output)
    assert found, output
    for given, corrected in found:
        assert float(corrected) > min(float(given) + 5, 90)
    assert name != "estimator.py" or output.count("cleanlab finds") == 2


@pytest.mark.slow
def test_an_exported_network_is_used_without_pencil(run: Run) -> None:
    found = re.search(r"recognises ([\d.]+)% of the digits", run("deploy.py"))
    assert found and float(found[1]) > 70


@pytest.mark.slow
def test_accelerate_runs_the_loop_on_two_processes(warm_file: Callable[..., WarmProcess]) -> None:
    out, err = warm_pair(warm_file, EXAMPLES / "accelerate_loop.py")
    found = re.findall(r"correct labels: ([\d.]+)% given, ([\d.]+)% after training", out)
    assert len(found) == 1, err
    assert float(found[0][1]) > 90 > float(found[0][0])


@pytest.mark.slow
def test_a_new_batch_is_audited(run: Run) -> None:
    found = re.search(r"wrong labels found: ([\d.]+)%, right ones doubted: ([\d.]+)%", run("audit.py"))
    assert found and float(found[1]) > 80 and float(found[2]) < 25


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
def test_runs_choose_their_folder_and_are_listed(run: Run) -> None:
    output = run("runs.py")
    assert "runs/digits-1" in output and "confusion" in output
    found = re.search(r"a notebook shows (\d+) tables and (\d+) drawing", output)
    assert found and int(found[1]) > 0 and int(found[2]) == 1


@pytest.mark.slow
def test_a_run_is_watched(run: Run) -> None:
    assert "1 file for TensorBoard; held-out accuracy after 8 epochs" in run("watch.py")


def test_the_loop_itself_takes_ten_lines() -> None:
    source = (EXAMPLES / "own_loop.py").read_text(encoding="utf-8")
    loop = source[source.index("model = ") : source.index("before, after")].strip()
    assert len(loop.splitlines()) <= 10
