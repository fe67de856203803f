"""The examples for users of other tools run as they stand and do what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, place: Path) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(EXAMPLES / name)]
    return subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["own_loop.py", "estimator.py", "hugging_face.py", "lightning_module.py", "pretrained_network.py", "tables.py"],
)
def test_labels_are_corrected(name: str, tmp_path: Path) -> None:
    output = run(name, tmp_path)
    found = re.findall(r"correct labels: ([\d.]+)% given, ([\d.]+)% after training", output)
    assert found, output
    for given, corrected in found:
        assert float(corrected) > min(float(given) + 5, 90)
    assert name != "estimator.py" or output.count("cleanlab finds") == 2


@pytest.mark.slow
def test_an_exported_network_is_used_without_pencil(tmp_path: Path) -> None:
    found = re.search(r"recognises ([\d.]+)% of the digits", run("deploy.py", tmp_path))
    assert found and float(found[1]) > 70


@pytest.mark.slow
def test_accelerate_runs_the_loop_on_two_processes(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command = [*torchrun, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", EXAMPLES / "accelerate_loop.py"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    found = re.findall(r"correct labels: ([\d.]+)% given, ([\d.]+)% after training", ended.stdout)
    assert len(found) == 1, ended.stderr
    assert float(found[0][1]) > 90 > float(found[0][0])


@pytest.mark.slow
def test_a_new_batch_is_audited(tmp_path: Path) -> None:
    found = re.search(r"wrong labels found: ([\d.]+)%, right ones doubted: ([\d.]+)%", run("audit.py", tmp_path))
    assert found and float(found[1]) > 80 and float(found[2]) < 25


@pytest.mark.slow
def test_runs_choose_their_folder_and_are_listed(tmp_path: Path) -> None:
    output = run("runs.py", tmp_path)
    assert "runs/digits-1" in output and "confusion" in output
    found = re.search(r"a notebook shows (\d+) tables and (\d+) drawing", output)
    assert found and int(found[1]) > 0 and int(found[2]) == 1


@pytest.mark.slow
def test_a_run_is_watched(tmp_path: Path) -> None:
    assert "1 file for TensorBoard; held-out accuracy after 8 epochs" in run("watch.py", tmp_path)


def test_the_loop_itself_takes_ten_lines() -> None:
    source = (EXAMPLES / "own_loop.py").read_text(encoding="utf-8")
    loop = source[source.index("model = ") : source.index("before, after")].strip()
    assert len(loop.splitlines()) <= 10
